// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import Testing

extension EndToEnd {
    /// Compares the routes of a gateway with the paths of openapi.yaml and server-openapi.yaml, from which the console
    /// and schemathesis take their calls.
    @Suite("the described routes")
    struct DescribedRoutesTests {
        private static let docs = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
            .appending(path: "docs")
        /// `POST` with a method override, and `OPTIONS`, which a middleware answers.
        private static let withoutRoute: Set = ["POST /conversations/:", "OPTIONS /"]

        /// Returns the methods and paths of a description. The name of a variable segment is omitted.
        private func operations(in file: String) throws -> Set<String> {
            let text = try String(contentsOf: Self.docs.appending(path: file), encoding: .utf8)
            let paths = try #require(text.firstRange(of: "\npaths:\n")).upperBound
            let end = text[paths...].firstRange(of: "\ncomponents:\n")?.lowerBound ?? text.endIndex
            let methods: Set<Substring> = ["get", "head", "post", "put", "patch", "delete", "options"]
            var path = ""
            var found: Set<String> = []
            for line in text[paths..<end].split(separator: "\n") where line.hasSuffix(":") {
                let name = line.dropLast().drop { $0 == " " }
                let depth = line.count - name.count - 1
                if depth == 2, name.hasPrefix("/") { path = normalized(String(name)) }
                if depth == 4, methods.contains(name) { found.insert("\(name.uppercased()) \(path)") }
            }
            return found
        }

        /// Returns a path with `:` in place of each variable segment, which begins with a colon or a brace.
        private func normalized(_ path: String) -> String {
            let segments = path.split(separator: "/").map { [":", "{"].contains($0.prefix(1)) ? ":" : $0 }
            return "/" + segments.joined(separator: "/")
        }

        private func names(_ routes: [ServedRoute], below prefix: String = "") -> Set<String> {
            Set(routes.map { "\($0.method) \(normalized(String($0.path.dropFirst(prefix.count))))" })
        }

        @Test("openapi.yaml describes every route of clients, and no other")
        func clients() throws {
            let routes = try AuthorizationTests.servedRoutes()
                .filter { route in
                    !["/docs", "/client", "/demo"].contains { route.path == $0 || route.path.hasPrefix($0 + "/") }
                }
            let (served, described) = (names(routes), try operations(in: "openapi.yaml").subtracting(Self.withoutRoute))
            #expect(served.subtracting(described).sorted() == [], "routes without a description")
            #expect(described.subtracting(served).sorted() == [], "descriptions without a route")
            #expect(served.count > 40)
        }

        @Test("server-openapi.yaml describes every route of apps' own servers except those of clients, and no other")
        func servers() throws {
            let gateway = try AuthorizationTests.served()
            let served = names(gateway.serverRoutes, below: "/apps/:app")
            let described = try operations(in: "server-openapi.yaml")
            let onBehalf = gateway.routes.filter { $0.access == .signedIn }
                .map { "\($0.method) /users/:\(normalized($0.path))" }
            #expect(served.subtracting(described).subtracting(onBehalf).sorted() == [], "routes without a description")
            #expect(described.subtracting(served).sorted() == [], "descriptions without a route")
            #expect(described.count > 50)
        }
    }
}
