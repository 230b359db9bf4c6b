// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataModel
import Testing

@testable import ChatExample

@Suite("options of the example Chat")
struct ChatOptionsTests {
    private static let app = ["--app", "layer:///apps/production/6a1f0e0c-6f1b-4d3b-9a53-8b8d8c6c2d11"]
    private static let needed = app + ["--user", "ana", "--url", "https://localhost:8443"]

    @Test("the last value of a repeated option counts")
    func repeated() throws {
        let options = try ChatOptions(Self.needed + ["--user", "bob", "--display-name", "Bob B"])
        #expect(options.user.rawValue == "bob")
        #expect(options.displayName == "Bob B")
        #expect(options.directory.lastPathComponent == ".chat")
    }

    @Test(
        "a wrong option is answered with a sentence and status 64",
        arguments: [
            ([], "--app, --user and --url are needed."),
            (["--user", "ana", "--url", "https://localhost:8443"], "--app, --user and --url are needed."),
            (needed + ["--bogus", "x"], "There is no option --bogus."),
            (needed + ["bob"], "There is no option bob."),
            (needed + ["--ca"], "--ca needs a value."),
            (needed + ["--display-name", ""], "--display-name needs a value."),
            (needed + ["--user", String(repeating: "x", count: 129)], "--user must have 1 to 128 bytes"),
            (needed + ["--user", "a\u{07}"], "--user must have 1 to 128 bytes"),
            (needed + ["--url", "nonsense"], "--url must look like https://chat.example.org."),
            (needed + ["--url", "ftp://localhost"], "--url must look like https://chat.example.org."),
        ] as [([String], String)])
    func wrong(_ words: [String], _ message: String) throws {
        let failure = try #require(throws: ChatFailure.self) { try ChatOptions(words) }
        #expect(failure.message.hasPrefix(message))
        #expect(failure.status == 64)
    }

    @Test("a missing file of certificates is named")
    func certificates() throws {
        let options = try ChatOptions(Self.needed + ["--ca", "/nowhere/ca.pem"])
        #expect(throws: ChatFailure("The file /nowhere/ca.pem cannot be read.")) { try options.trustedCertificates }
        #expect(try ChatOptions(Self.needed).trustedCertificates == nil)
    }
}
