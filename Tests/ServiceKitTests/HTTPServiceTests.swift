// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import FoundationEssentials
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import ServiceKit

@Suite("HTTP services", .timeLimit(.minutes(2)))
struct HTTPServiceTests {
    @Test("a response has the date, and an unexpected error is a 500 that does not end the connection")
    func answers() async throws {
        struct Broken: Error {}
        let router = Router()
        router.get("fine") { _, _ in "fine" }
        router.get("broken") { _, _ -> String in throw Broken() }
        let (ports, announce) = AsyncStream<Int>.makeStream()
        let service = HTTPService(
            responder: router.buildResponder(),
            configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onListening: { announce.yield($0.localAddress?.port ?? 0) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await service.run() }
        defer { running.cancel() }
        let port = try #require(await ports.first { _ in true })
        for (path, status) in [("fine", 200), ("broken", 500), ("fine", 200), ("absent", 404)] {
            let response = try await HTTPClient.shared.execute(
                HTTPClientRequest(url: "http://127.0.0.1:\(port)/\(path)"), timeout: .seconds(20))
            #expect(response.status.code == status)
            let date = try #require(response.headers.first(name: "date"))
            #expect(date.wholeMatch(of: /\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d GMT/) != nil, "\(date)")
        }
    }

    @Test("dates have the form of HTTP")
    func dates() {
        #expect(HTTPDate.text(of: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.text(of: 0) == "Thu, 01 Jan 1970 00:00:00 GMT")
    }
}
