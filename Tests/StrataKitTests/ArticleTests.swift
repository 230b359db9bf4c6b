// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@Suite("the articles about StrataKit")
struct ArticleTests {
    private static let articles = [
        "GettingStarted", "WorkingOffline", "History", "Queries", "Content", "PortingFromLayerKit",
    ]

    private func text(_ article: String) throws -> String {
        try Repository.text("Clients/StrataKit/StrataKit.docc/\(article).md")
    }

    /// Returns the aside (warning or tip) with this beginning, as one line.
    private func aside(_ beginning: String, in article: String) throws -> String {
        let lines = try text(article).split(separator: "\n").drop { !$0.hasPrefix("> \(beginning)") }
            .prefix { $0.hasPrefix(">") }
        try #require(!lines.isEmpty, "\(article) has no \"\(beginning)\"")
        return lines.map { $0.dropFirst(2) }.joined(separator: " ")
    }

    @Test("the articles state the limits of metadata and their reasons", .proves("META-22"))
    func metadata() throws {
        let warning = try aside("Warning: Metadata is not a general store", in: "GettingStarted")
        for words in [
            "sync slows down", "small", "no binary data and no thumbnails", "URL", "none about single messages",
            "compute keys",
        ] {
            #expect(warning.contains(words), "\(words)")
        }
    }

    @Test("the articles advise to disable receipts for more than 5 participants", .proves("SYNC-56"))
    func receipts() throws {
        let advice = try aside("Important: Turn both kinds of receipts off", in: "GettingStarted")
        #expect(advice.contains("more than 5 participants"))
        #expect(advice.contains("sync faster"))
    }

    @Test("the articles warn that complete history takes bandwidth and slows the app")
    func history() throws {
        let warning = try aside("Warning: ``SyncPolicy/completeHistory``", in: "History")
        #expect(warning.contains("bandwidth"))
        #expect(warning.contains("slow until everything is there"))
    }

    @Test("the articles warn that calls use the data on the device")
    func partialStore() throws {
        let warning = try aside(
            "Warning: Sending, queries and marking as read use what is on this device", in: "WorkingOffline")
        #expect(warning.contains("may not have everything"))
        #expect(warning.contains("marks only those on the device"))
        #expect(
            try aside("Important: A query finds only what is on this device", in: "Queries")
                .contains("<doc:WorkingOffline>"))
    }

    @Test("the first page links to each article", arguments: articles)
    func found(_ article: String) throws {
        #expect(try text("StrataKit").contains("- <doc:\(article)>"))
    }
}
