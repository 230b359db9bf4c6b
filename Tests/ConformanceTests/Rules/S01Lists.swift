// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules for the `Link` header of lists, an extension by Strata.
enum S01Lists {
    /// Follows a list by its `Link` headers only.
    /// - Returns: The ids of each page.
    static func follow(_ user: User, _ path: String, pageSize: Int) async throws -> [[String]] {
        let f = user.fixture
        var pages: [[String]] = []
        var next: String? = "\(path)?page_size=\(pageSize)"
        while let path = next, pages.count < 20 {
            let answer = try await user.does("GET", path)
            pages.append((answer.json.array ?? []).compactMap { $0["id"].string ?? $0.string })
            next = try nextPage(f, answer)
            if let next { f.check(next.contains("page_size=\(pageSize)&"), "\(next) does not repeat the parameters") }
        }
        return pages
    }

    /// Returns the next page's path and query; nil if the answer has no `Link` header.
    static func nextPage(_ f: Fixture, _ answer: RESTResponse) throws -> String? {
        guard let link = answer.header("Link") else { return nil }
        guard let match = link.wholeMatch(of: /<([^<> ]+)>; rel="next"/) else { throw HarnessError("Link: \(link)") }
        return try path(f, String(match.1))
    }

    /// Returns the part of a URL after the public base URL.
    static func path(_ f: Fixture, _ url: String) throws -> String {
        guard url.hasPrefix(f.system.publicURL + "/") else {
            throw HarnessError("\(url) does not begin with \(f.system.publicURL)")
        }
        return String(url.dropFirst(f.system.publicURL.count))
    }

    /// Checks a list for several page sizes: the pages have the requested size and the list's order, and no page
    /// follows the last object.
    private static func check(_ user: User, _ path: String, _ all: [String]) async throws {
        for size in [1, 2, 3, 5, 6] {
            let pages = try await follow(user, path, pageSize: size)
            user.fixture.equal(pages.flatMap { $0 }, all, "\(path) by \(size)")
            user.fixture.equal(
                pages.map(\.count), stride(from: 0, to: all.count, by: size).map { min(size, all.count - $0) },
                "\(path) by \(size)")
        }
    }

    static let rules: [Rule] = [
        Rule(
            "1.8",
            "Link with rel=\"next\" leads through conversations in both orders, and is absent from the last page", .doc
        ) { f in
            let ana = try await f.user("ana")
            var ids: [String] = []
            for _ in 0..<5 { ids.insert(try await ana.converse([]), at: 0) }
            try await check(ana, "/conversations", ids)
            try await ana.send("x", to: ids[3])
            let byLastMessage = [ids[3], ids[0], ids[1], ids[2], ids[4]]
            var path: String? = "/conversations?sort_by=last_message&page_size=2"
            var found: [String] = []
            while let next = path {
                let answer = try await ana.does("GET", next)
                found += answer.json.ids
                path = try nextPage(f, answer)
                if let path { f.check(path.contains("sort_by=last_message&page_size=2&"), path) }
            }
            f.equal(found, byLastMessage)
        },
        Rule(
            "1.8", "Link with rel=\"next\" leads through messages, also where what is last is hidden from the user",
            .doc
        ) { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            var ids: [String] = []
            for number in 0..<6 { ids.insert(try await ana.sendID("\(number)", to: conversation), at: 0) }
            try await ana.does("DELETE", Layer.path(ids[5]) + "?mode=my_devices")
            try await check(ana, Layer.path(conversation) + "/messages", Array(ids.prefix(5)))
        },
        Rule("1.8", "Link with rel=\"next\" leads through identities and those followed", .doc) { f in
            let users = try await f.users("ana", "ben", "cleo", "dora", "a b")
            try await users[0]
                .converse(
                    users[1...].map { "layer:///identities/\($0.userID.replacingOccurrences(of: " ", with: "%20"))" })
            for path in ["/identities", "/following"] {
                let all = (try await users[0].get(path).array ?? []).compactMap { $0["id"].string ?? $0.string }
                f.equal(all.count, 4)
                try await check(users[0], path, all)
            }
        },
        Rule("1.8", "a list that is one page or empty has no Link", .doc) { f in
            let ana = try await f.user("ana")
            for path in ["/conversations", "/identities", "/following", "/announcements"] {
                f.check(try await ana.does("GET", path).header("Link") == nil, path)
            }
            let conversation = try await ana.converse([])
            f.check(try await ana.does("GET", "/conversations?page_size=1").header("Link") == nil, "one conversation")
            f.check(
                try await ana.does("GET", Layer.path(conversation) + "/messages").header("Link") == nil, "no messages")
        },
    ]
}
