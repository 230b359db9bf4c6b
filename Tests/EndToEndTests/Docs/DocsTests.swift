// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("the description of the protocol")
    struct DocsTests {
        private static let files = [
            ("/docs/", "index.html", "text/html"), ("/docs/errors", "errors.html", "text/html"),
            ("/docs/openapi.yaml", "openapi.yaml", "application/yaml"),
            ("/docs/asyncapi.yaml", "asyncapi.yaml", "application/yaml"),
            ("/docs/server-openapi.yaml", "server-openapi.yaml", "application/yaml"),
        ]

        private func committed(_ name: String) throws -> Data {
            var root = URL(fileURLWithPath: #filePath)
            for _ in 0..<4 { root.deleteLastPathComponent() }
            return try Data(contentsOf: root.appending(path: "docs").appending(path: name))
        }

        @Test("gateways serve the description to every client, identical to the repository", arguments: files)
        func served(_ path: String, _ name: String, _ type: String) async throws {
            let client = try await Cluster.shared().client()
            let answer = try await client.call("GET", path, headers: ["Accept": ""])
            #expect(answer.status == 200)
            #expect(answer.body == (try committed(name)))
            #expect(answer.header("Content-Type")?.hasPrefix(type) == true)
            #expect(answer.header("Content-Security-Policy")?.contains("default-src 'none'") == true)
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
        }

        @Test("gateways serve the JavaScript client, and the demo page only if it is switched on")
        func client() async throws {
            let client = try await Cluster.shared().client()
            let answer = try await client.call(
                "GET", "/client/strata.js", headers: ["Accept": "", "Origin": "https://a.test"])
            #expect(answer.status == 200)
            #expect(answer.header("Content-Type")?.hasPrefix("text/javascript") == true)
            #expect(answer.header("Access-Control-Allow-Origin") != nil)
            #expect(try await client.call("GET", "/client/nothing.js", headers: ["Accept": ""]).status == 404)
            #expect(try await client.call("GET", "/demo/", headers: ["Accept": ""]).status == 404)
        }

        @Test(
            "gateways send the minified JavaScript client compressed to clients that accept it",
            arguments: [("gzip, deflate, br", true), ("br;q=1, GZIP;q=0.5", true), ("gzip;q=0", false), ("", false)])
        func compressed(_ encodings: String, _ isCompressed: Bool) async throws {
            let client = try await Cluster.shared().client()
            let headers = ["Accept": "", "Accept-Encoding": encodings, "Origin": "https://a.test"]
            let answer = try await client.call("GET", "/client/strata.min.js", headers: headers)
            let name = "../Clients/JavaScript/strata.min.js" + (isCompressed ? ".gz" : "")
            #expect(answer.body == (try committed(name)))
            #expect(answer.header("Content-Encoding") == (isCompressed ? "gzip" : nil))
            #expect(answer.header("ETag")?.hasSuffix("-gzip\"") == isCompressed)
            #expect(answer.header("Vary") == "Accept-Encoding, Origin")
            let known = headers.merging(["If-None-Match": try #require(answer.header("ETag"))]) { $1 }
            #expect(try await client.call("GET", "/client/strata.min.js", headers: known).status == 304)
        }

        @Test("a browser runs the search script and no other script")
        func script() async throws {
            let client = try await Cluster.shared().client()
            let index = try await client.call("GET", "/docs/", headers: ["Accept": ""])
            let page = String(decoding: index.body, as: UTF8.self)
            let start = try #require(page.firstRange(of: "<script>")?.upperBound)
            let script = page[start..<(try #require(page[start...].firstRange(of: "</script>")?.lowerBound))]
            let hash = Data(SHA256.hash(data: Data(script.utf8))).base64EncodedString()
            #expect(index.header("Content-Security-Policy")?.contains("script-src 'sha256-\(hash)';") == true)
            for (path, _, _) in Self.files.dropFirst() {
                let answer = try await client.call("GET", path, headers: ["Accept": ""])
                #expect(answer.header("Content-Security-Policy")?.contains("script-src") == false)
            }
        }

        @Test("HEAD answers without a body, and cached documents are not sent again", arguments: files)
        func conditional(_ path: String, _ name: String, _ type: String) async throws {
            let client = try await Cluster.shared().client()
            let head = try await client.call("HEAD", path, headers: ["Accept": ""])
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.header("Content-Length") == (try committed(name)).count.description)
            let tag = try #require(head.header("ETag"))
            for (known, status) in [(tag, 304), ("\"other\", W/\(tag)", 304), ("\"other\"", 200)] {
                let answer = try await client.call("GET", path, headers: ["Accept": "", "If-None-Match": known])
                #expect(answer.status == status)
                #expect(answer.body.isEmpty == (status == 304))
                #expect(answer.header("ETag") == tag)
            }
        }

        @Test("the page is also found without the trailing slash")
        func redirected() async throws {
            let client = try await Cluster.shared().client()
            for method in ["GET", "HEAD"] {
                let answer = try await client.call(method, "/docs", headers: ["Accept": ""])
                #expect(answer.status == 308)
                #expect(answer.header("Location") == "https://chat.test/docs/")
            }
        }

        @Test("an error object's URL leads to its explanation")
        func errors() async throws {
            let client = try await Cluster.shared().client()
            let page = String(decoding: try await client.call("GET", "/docs/errors").body, as: UTF8.self)
            for path in ["/conversations", "/nothing/here"] {
                let url = try #require(try await client.call("GET", path).json["url"].string)
                let anchor = try #require(url.split(separator: "#").last)
                #expect(url.hasPrefix("https://chat.test/docs/errors#"))
                #expect(page.contains("id=\"\(anchor)\""))
            }
        }
    }
}
