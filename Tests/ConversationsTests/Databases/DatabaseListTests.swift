// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import StrataModel
import Testing

@testable import DatabaseKit

@Suite struct DatabaseListTests {
    private func names(_ text: String) -> [String]? { DatabaseList(text)?.databases.map { $0.name.description } }

    @Test("a single URL or keyword string is the database main")
    func single() {
        for text in [
            "postgresql://user@db/strata?options=-c%20role%3Dx", "host=/tmp dbname=strata", "postgres://a=b@db/x",
        ] {
            #expect(names(text) == ["main"])
            #expect(DatabaseList(text)?.databases.first?.url == text)
        }
    }

    @Test("several databases have names, in any white space")
    func several() {
        let list = DatabaseList("main=postgres://a@db/x\n  eu-1=postgresql://b@db/y?sslmode=require\t")
        #expect(list?.databases.map { $0.name.description } == ["main", "eu-1"])
        #expect(list?.databases.map { $0.url } == ["postgres://a@db/x", "postgresql://b@db/y?sslmode=require"])
    }

    @Test(
        "a list with a wrong or repeated name, or without a URL, is refused",
        arguments: [
            "", " ", "a=postgres://x a=postgres://y", "A=postgres://x", "1=postgres://x", "a=postgres://x b=host",
            "a=postgres://x postgres://y", "=postgres://x",
        ])
    func refused(text: String) { #expect(names(text) == nil) }

    @Test("a description shows no URL")
    func secret() throws {
        let list = try #require(DatabaseList("a=postgres://u:hidden@x b=postgres://u:hidden@y"))
        #expect(!"\(list)".contains("hidden"))
        var text = ""
        dump(list, to: &text)
        #expect(!text.contains("hidden"))
    }

    @Test("the settings name the key of a wrong list")
    func settings() {
        let error = #expect(throws: SettingsError.self) {
            _ = try PostgresSettings(Settings(environment: ["STRATA_POSTGRES_URL": "a=postgres://x a=postgres://y"]))
        }
        #expect(error?.key == "STRATA_POSTGRES_URL")
    }
}
