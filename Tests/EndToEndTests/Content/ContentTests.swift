// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("rich content")
    struct ContentTests {
        private static let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

        // MARK: Announcing

        @Test("announced content has an upload URL and no download URL; uploaded content has the reverse")
        func objects() async throws {
            let ana = try await Cluster.shared().app().signIn("ana")
            let announced = try await ana.call(
                "POST", "/content", headers: ["Upload-Content-Length": "5", "Upload-Content-Type": "text/plain"])
            #expect(announced.status == 201)
            let id = try #require(announced.json["id"].string)
            #expect(id.hasPrefix("layer:///content/"))
            #expect(announced.json["size"].int == 5)
            #expect(announced.json["download_url"].isNull && announced.json["expiration"].isNull)
            #expect(announced.json["refresh_url"].string == "https://chat.test\(layerPath(id))")
            let url = try #require(announced.json["upload_url"].string)
            let before = try await ana.does("GET", layerPath(id)).json
            #expect(before["download_url"].isNull && before["upload_url"].isNull)
            #expect(try await Cluster.shared().put(Data("hello".utf8), to: url).status == 200)
            let after = try await ana.does("GET", layerPath(id)).json
            #expect(after["size"].int == 5)
            let expiration = try Date(
                try #require(after["expiration"].string),
                strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
            #expect((3500...7300).contains(expiration.timeIntervalSinceNow))
            // The URL stays the same for a while, so that clients can cache by it.
            let again = try await ana.does("GET", layerPath(id)).json
            #expect(again["download_url"] == after["download_url"] || again["expiration"] != after["expiration"])
        }

        @Test("a refused announcement names missing and invalid properties")
        func announcements() async throws {
            let ana = try await Cluster.shared().app().signIn("ana")
            let cases: [([String: String], String, String)] = [
                (["Upload-Content-Type": "a/b"], "missing_property", "Upload-Content-Length"),
                (["Upload-Content-Length": "5"], "missing_property", "Upload-Content-Type"),
                (
                    ["Upload-Content-Length": "-5", "Upload-Content-Type": "a/b"], "invalid_property",
                    "Upload-Content-Length"
                ),
                (
                    ["Upload-Content-Length": "five", "Upload-Content-Type": "a/b"], "invalid_property",
                    "Upload-Content-Length"
                ),
                (
                    ["Upload-Content-Length": "2147483649", "Upload-Content-Type": "a/b"], "invalid_property",
                    "Upload-Content-Length"
                ),
                (
                    ["Upload-Content-Length": "99999999999999999999", "Upload-Content-Type": "a/b"], "invalid_property",
                    "Upload-Content-Length"
                ),
                (
                    ["Upload-Content-Length": "5", "Upload-Content-Type": "nonsense"], "invalid_property",
                    "Upload-Content-Type"
                ),
            ]
            for (headers, id, property) in cases {
                let answer = try await ana.call("POST", "/content", headers: headers)
                #expect(answer.status == 422, "\(headers)")
                #expect(answer.errorID == id, "\(headers)")
                #expect(answer.json["data"]["property"].string == property, "\(headers)")
            }
            let nobody = try await ana.client.call(
                "POST", "/content", headers: ["Upload-Content-Length": "5", "Upload-Content-Type": "a/b"])
            #expect(nobody.status == 401)
        }

        // MARK: Uploads

        @Test("a gateway serves content uploaded through another gateway, with its type, and no browser runs it")
        func acrossGateways() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana", via: 0)
            let content = try await ana.upload(Self.bytes, type: "text/html;charset=utf-8", via: 0)
            let url = try await ana.downloadURL(of: content)
            for gateway in [1, 0] {
                let answer = try await cluster.fetch(url, via: gateway)
                #expect(answer.status == 200)
                #expect(answer.body == Self.bytes)
                #expect(answer.header("Content-Type") == "text/html;charset=utf-8")
                #expect(answer.header("Content-Length") == "100000")
                #expect(answer.header("X-Content-Type-Options") == "nosniff")
                #expect(answer.header("Content-Security-Policy") == "sandbox; default-src 'none'")
                #expect(answer.header("Cache-Control")?.hasPrefix("private, max-age=") == true)
            }
        }

        @Test("a repeated upload succeeds and changes nothing")
        func repeated() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let content = try await ana.upload(Self.bytes)
            #expect(try await cluster.put(Data(Self.bytes.reversed()), to: content.uploadURL, via: 1).status == 200)
            #expect(try await cluster.fetch(try await ana.downloadURL(of: content)).body == Self.bytes)
        }

        @Test("content may be empty")
        func empty() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let answer = try await cluster.fetch(try await ana.downloadURL(of: try await ana.upload(Data())))
            #expect(answer.status == 200)
            #expect(answer.body.isEmpty)
        }

        @Test(
            "an upload with another length than announced is refused, stores nothing, and can be repeated",
            arguments: [99_999, 100_001, 0])
        func wrongLength(_ length: Int) async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let content = try await ana.announce(length)
            let answer = try await cluster.put(Self.bytes, to: content.uploadURL)
            #expect(answer.status == 400)
            #expect(answer.errorID == "invalid_request")
            #expect(cluster.files(of: content) == [])
            #expect(try await ana.does("GET", content.path)["download_url"].isNull)
            #expect(
                try await cluster
                    .put(Self.bytes.prefix(length) + Data(count: max(0, length - 100_000)), to: content.uploadURL)
                    .status == 200)
        }

        @Test(
            "a gateway counts the bytes of an upload without a Content-Length",
            arguments: [(4, 400), (5, 200), (6, 400)])
        func chunked(_ length: Int, _ status: Int) async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let content = try await ana.announce(5)
            let connection = try PlainConnection(to: cluster.urls[0])
            let body = String(repeating: "x", count: length)
            try connection.send(
                """
                PUT \(try path(of: content.uploadURL)) HTTP/1.1\r\nHost: chat.test\r\nTransfer-Encoding: chunked\r\n\r\n\
                \(length)\r\n\(body)\r\n0\r\n\r\n
                """)
            try await eventually("the upload is over") {
                let isUploaded = try await !ana.does("GET", content.path)["download_url"].isNull
                return isUploaded == (status == 200) && (status == 200 || cluster.files(of: content) == [])
            }
            withExtendedLifetime(connection) {}
        }

        @Test("an interrupted upload stores nothing and can be repeated")
        func brokenOff() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            for endsHalf in [true, false] {
                let content = try await ana.announce(Self.bytes.count)
                do {
                    let connection = try PlainConnection(to: cluster.urls[0])
                    let length = Self.bytes.count
                    try connection.send(
                        "PUT \(try path(of: content.uploadURL)) HTTP/1.1\r\nHost: chat.test\r\nContent-Length: \(length)\r\n\r\n"
                    )
                    try connection.send(Self.bytes.prefix(60_000))
                    try await eventually("the upload has begun") { cluster.files(of: content).count == 1 }
                    if endsHalf {
                        connection.end()
                        try await eventually("nothing is left") { cluster.files(of: content) == [] }
                    }
                }
                try await eventually("nothing is left") { cluster.files(of: content) == [] }
                #expect(try await ana.does("GET", content.path)["download_url"].isNull)
                #expect(try await cluster.put(Self.bytes, to: content.uploadURL, via: 1).status == 200)
            }
        }

        @Test("a tampered or foreign token allows no upload or download")
        func tampered() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let content = try await ana.upload(Self.bytes)
            let (up, down) = (content.uploadURL, try await ana.downloadURL(of: content))
            for url in [
                String(up.dropLast()) + (up.hasSuffix("A") ? "B" : "A"), up + "A",
                "https://chat.test/content/uploads/nonsense",
            ] {
                let answer = try await cluster.put(Self.bytes, to: url)
                #expect(answer.status == 404)
                #expect(answer.errorID == "not_found")
            }
            let crossed = [
                down.replacing("/downloads/", with: "/uploads/"), up.replacing("/uploads/", with: "/downloads/"),
            ]
            #expect(try await cluster.put(Self.bytes, to: crossed[0]).errorID == "not_found")
            #expect(try await cluster.fetch(crossed[1]).errorID == "not_found")
            #expect(try await cluster.fetch(down + "A").errorID == "not_found")
            #expect(try await cluster.fetch(down.replacing("/downloads/", with: "/downloads/A")).errorID == "not_found")
        }

        // MARK: Downloads

        @Test("a client can download parts of content by range")
        func ranges() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let url = try await ana.downloadURL(of: try await ana.upload(Self.bytes))
            let whole = try await cluster.fetch(url)
            #expect(whole.header("Accept-Ranges") == "bytes")
            let tag = try #require(whole.header("ETag"))
            for (range, expected) in [
                ("bytes=0-9", 0..<10), ("bytes=70000-", 70_000..<100_000), ("bytes=-5", 99_995..<100_000),
            ] {
                let answer = try await cluster.fetch(url, via: 1, headers: ["Range": range])
                #expect(answer.status == 206)
                #expect(answer.body == Self.bytes[expected])
                #expect(
                    answer.header("Content-Range") == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/100000")
                #expect(answer.header("Content-Length") == "\(expected.count)")
            }
            let beyond = try await cluster.fetch(url, headers: ["Range": "bytes=100000-"])
            #expect(beyond.status == 416)
            #expect(beyond.header("Content-Range") == "bytes */100000")
            #expect(beyond.header("Content-Type") == "application/json")
            #expect(try await cluster.fetch(url, headers: ["Range": "bytes=0-9", "If-Range": tag]).status == 206)
            #expect(
                try await cluster.fetch(url, headers: ["Range": "bytes=0-9", "If-Range": "\"other\""]).body
                    == Self.bytes)
        }

        @Test("HEAD describes the bytes without sending them, and cached content is not sent again")
        func headAndTag() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let url = try await ana.downloadURL(of: try await ana.upload(Self.bytes))
            let head = try await cluster.fetch(url, method: "HEAD")
            #expect(head.status == 200)
            #expect(head.header("Content-Length") == "100000")
            #expect(head.header("Content-Type") == "image/png")
            #expect(head.body.isEmpty)
            let tag = try #require(head.header("ETag"))
            for list in [tag, "\"other\", \(tag)", "W/\(tag)", "*"] {
                let answer = try await cluster.fetch(url, headers: ["If-None-Match": list])
                #expect(answer.status == 304)
                #expect(answer.body.isEmpty)
                #expect(answer.header("ETag") == tag)
            }
            #expect(try await cluster.fetch(url, headers: ["If-None-Match": "\"other\""]).status == 200)
            #expect(try await cluster.fetch(url).body == Self.bytes)
        }

        @Test("browsers of another origin may use both URLs")
        func cors() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let content = try await ana.announce(Self.bytes.count)
            let origin = ["Origin": "https://app.example.org"]
            let preflight = try await cluster.fetch(
                content.uploadURL, method: "OPTIONS",
                headers: origin.merging(["Access-Control-Request-Method": "PUT"]) { $1 })
            #expect(preflight.isSuccess)
            #expect(preflight.header("Access-Control-Allow-Methods")?.contains("PUT") == true)
            for name in ["upload-content-type", "upload-content-length", "upload-origin", "range"] {
                #expect(preflight.header("Access-Control-Allow-Headers")?.contains(name) == true)
            }
            let put = try await cluster.put(Self.bytes, to: content.uploadURL, headers: origin)
            let url = try await ana.downloadURL(of: content)
            let refused = try await cluster.fetch(url + "A", headers: origin)
            #expect(refused.status == 404)
            for answer in [
                put, refused, try await cluster.fetch(url, headers: origin),
                try await cluster.fetch(url, method: "HEAD", headers: origin),
            ] {
                #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example.org")
                #expect(answer.header("Vary") == "Origin")
            }
        }

        // MARK: Large content

        /// The content's size in bytes, far more than the gateways may buffer.
        private static let largeBytes = 40 << 20

        @Test("large content passes through both gateways without being held in memory")
        func streaming() async throws {
            let cluster = try await Cluster.shared()
            let ana = try await cluster.app().signIn("ana")
            let large = Data(repeating: 0x5a, count: Self.largeBytes)
            let warm = try await ana.upload(Self.bytes)
            for gateway in [0, 1] { _ = try await cluster.fetch(try await ana.downloadURL(of: warm), via: gateway) }
            var before: [Int] = []
            for gateway in cluster.instances(of: .gateway) { before.append(try await Self.resetPeak(gateway)) }
            let content = try await ana.upload(large, via: 0)
            #expect(try await cluster.fetch(try await ana.downloadURL(of: content), via: 1).body == large)
            for (gateway, start) in zip(cluster.instances(of: .gateway), before) {
                let peak = try await Self.status(gateway, "VmHWM")
                #expect(peak - start < Self.largeBytes / 4, "\(gateway.name): \(start) to \(peak) bytes")
            }
        }

        /// Resets the peak resident size (`VmHWM`) of a process.
        /// - Returns: The current resident size in bytes.
        private static func resetPeak(_ process: ServiceProcess) async throws -> Int {
            let pid = try #require(await process.pid)
            try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/\(pid)/clear_refs"))
            return try await status(process, "VmRSS")
        }

        private static func status(_ process: ServiceProcess, _ name: String) async throws -> Int {
            let pid = try #require(await process.pid)
            let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + ":") })
            return try #require(line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first) * 1024
        }
    }
}
