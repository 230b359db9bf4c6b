// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import CoreMetrics
import Foundation
import Hummingbird
import Logging
import Metrics
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import ServiceKit

@Suite(.timeLimit(.minutes(3)))
struct AdminTests {
    struct Answer {
        var status: UInt
        var type: String?
        var body: String
    }

    private func withServer(
        _ health: Health, _ registry: PrometheusRegistry, routes: AdminRoutes = AdminRoutes(),
        _ body: (Int) async throws -> Void
    ) async throws {
        let (ports, announce) = AsyncStream<Int>.makeStream()
        let server = AdminServer(
            host: "127.0.0.1", port: 0, health: health, registry: registry, routes: routes,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, onListening: { announce.yield($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await server.run() }
            try await body(try #require(await ports.first { _ in true }))
            group.cancelAll()
        }
    }

    private func get(_ port: Int, _ path: String) async throws -> Answer {
        let response = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: "http://127.0.0.1:\(port)/\(path)"), timeout: .seconds(20))
        let body = try await response.body.collect(upTo: 1 << 20)
        return Answer(
            status: response.status.code, type: response.headers.first(name: "content-type"), body: String(buffer: body)
        )
    }

    @Test("liveness checks nothing, readiness checks everything, and both answer in JSON")
    func healthy() async throws {
        let health = Health()
        health.add("postgres") {}
        try await withServer(health, PrometheusRegistry()) { (port: Int) async throws in
            #expect(try await get(port, "health/live").status == 200)
            let ready = try await get(port, "health/ready")
            #expect(ready.status == 200)
            #expect(ready.type == "application/json")
            let start = #"{"status":"ready","version":"\#(HealthReport.version)","checks":[{"name":"postgres","#
            #expect(ready.body.hasPrefix(start + #""status":"passing","milliseconds":"#))
            #expect(try await get(port, "other").status == 404)
        }
    }

    @Test("a failing check ends readiness, is named, and reports the kind of error but not its text")
    func failing() async throws {
        struct Broken: Error { let text = "password" }
        let health = Health()
        health.add("redis") {}
        health.add("postgres") { throw Broken() }
        try await withServer(health, PrometheusRegistry()) { (port: Int) async throws in
            let ready = try await get(port, "health/ready")
            #expect(ready.status == 503)
            #expect(ready.body.hasPrefix(#"{"status":"unavailable""#))
            #expect(ready.body.contains(#"{"name":"postgres","status":"failing","reason":"Broken""#))
            #expect(ready.body.contains(#"{"name":"redis","status":"passing""#))
            #expect(!ready.body.contains("password"))
            #expect(try await get(port, "health/live").status == 200)
        }
    }

    @Test("a hanging check, even an uncancellable one, fails in time and does not run twice")
    func hanging() async throws {
        let health = Health()
        let asked = Mutex(0)
        let (gate, open) = AsyncStream<Void>.makeStream()
        health.add("postgres", timeout: .milliseconds(20)) {
            asked.withLock { $0 += 1 }
            // Detached, so that cancellation does not reach it.
            await Task.detached { _ = await gate.first { _ in true } }.value
        }
        let first = await health.report()
        #expect(first.checks.first?.failure?.hasPrefix("no answer within") == true)
        let second = await health.report()
        #expect(second.checks.first?.failure?.hasPrefix("no answer within") == true)
        #expect(asked.withLock { $0 } == 1)
        open.yield(())
    }

    @Test("two concurrent requests share a check and its outcome")
    func shared() async throws {
        let health = Health()
        let second = Mutex<Task<HealthReport, Never>?>(nil)
        health.add("postgres") {
            second.withLock { $0 = $0 ?? Task { await health.report() } }
            // The second request is made meanwhile.
            for _ in 0..<1000 { await Task.yield() }
        }
        #expect(await health.report().isReady)
        #expect(await second.withLock { $0 }?.value.isReady == true)
    }

    @Test("a stopping process is not ready")
    func stopping() async throws {
        let health = Health()
        health.stop()
        let report = await health.report()
        #expect(!report.isReady)
        let json = #"{"status":"stopping","version":"\#(HealthReport.version)","checks":[]}"#
        #expect(String(decoding: report.json, as: UTF8.self) == json)
    }

    @Test("metrics are served in the Prometheus text format")
    func metrics() async throws {
        let registry = PrometheusRegistry()
        Counter(label: "served", factory: registry).increment(by: 5)
        try await withServer(Health(), registry) { (port: Int) async throws in
            let answer = try await get(port, "metrics")
            #expect(answer.status == 200)
            #expect(answer.type == "text/plain; version=0.0.4; charset=utf-8")
            #expect(answer.body.contains("served_total 5\n"))
            #expect(answer.body.contains("process_resident_memory_bytes "))
        }
    }

    @Test("a service's own routes are served beside the common ones")
    func routes() async throws {
        let routes = AdminRoutes()
        routes.get("trace") { request in
            Response(status: .accepted, body: ResponseBody(byteBuffer: ByteBuffer(string: request.uri.query ?? "")))
        }
        try await withServer(Health(), PrometheusRegistry(), routes: routes) { (port: Int) async throws in
            let answer = try await get(port, "trace?user=ana")
            #expect(answer.status == 202 && answer.body == "user=ana")
            #expect(try await get(port, "health/live").status == 200)
        }
    }
}
