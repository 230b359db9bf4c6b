// SPDX-License-Identifier: Apache-2.0
import Logging
import NIOCore
import Testing

@testable import FanOut
@testable import Gateway

@Suite("limits of connections")
struct ClientConnectionsTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func key(_ address: String) throws -> RateKey { try #require(RateKey(address: address)) }

    @Test("the process's limit counts all connections, and closed connections free capacity")
    func process() throws {
        let clients = ClientConnections(ClientConnections.Limits(total: 3, perAddress: nil), logger: Self.quiet)
        let addresses = try (1...4).map { try key("10.0.0.\($0)") }
        for address in addresses.prefix(3) { #expect(clients.opened(address) == nil) }
        #expect(clients.opened(addresses[3]) == .process)
        clients.closed(addresses[0])
        #expect(clients.opened(addresses[3]) == nil)
        #expect(clients.opened(nil) == .process)
    }

    @Test("waiting for the end of all connections ends with the last one, and with its task", .timeLimit(.minutes(1)))
    func waiting() async throws {
        let clients = ClientConnections(ClientConnections.Limits(total: 3), logger: Self.quiet)
        await clients.waitUntilClosed()
        for _ in 0..<2 { #expect(clients.opened(nil) == nil) }
        let waiting = Task { await clients.waitUntilClosed() }
        for _ in 0..<2 { clients.closed(nil) }
        await waiting.value
        #expect(clients.opened(nil) == nil)
        let cancelled = Task { await clients.waitUntilClosed() }
        cancelled.cancel()
        await cancelled.value
    }

    @Test("the limit of an address counts that address only, and refused connections count nowhere")
    func address() throws {
        let clients = ClientConnections(ClientConnections.Limits(total: 5, perAddress: 2), logger: Self.quiet)
        let (one, other) = (try key("10.0.0.1"), try key("10.0.0.2"))
        #expect(clients.opened(one) == nil)
        #expect(clients.opened(one) == nil)
        for _ in 0..<10 { #expect(clients.opened(one) == .address) }
        #expect(clients.isFull(one))
        #expect(!clients.isFull(other))
        #expect(clients.opened(other) == nil)
        clients.closed(one)
        #expect(clients.opened(one) == nil)
        #expect(clients.opened(nil) == nil)
        #expect(clients.opened(other) == nil)
        #expect(clients.opened(nil) == .process)
    }

    @Test("sockets behind a proxy count for the address that the proxy names")
    func sockets() throws {
        let clients = ClientConnections(ClientConnections.Limits(total: 10, perAddress: 1), logger: Self.quiet)
        let address = try key("10.0.0.1")
        #expect(clients.socketOpened(address) == nil)
        #expect(clients.socketOpened(address) == .address)
        clients.socketClosed(address)
        #expect(!clients.isFull(address))
        #expect(clients.socketOpened(address) == nil)
    }
}
