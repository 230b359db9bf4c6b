// SPDX-License-Identifier: Apache-2.0

import LocalServers
import TestSupport
import Testing

@testable import TestCluster

@Suite("the network between machines")
struct NetworkTests {
    /// A TCP packet from 10.0.0.1 to 10.0.0.2.
    private static let packet: [UInt8] =
        [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2] + [UInt8](repeating: 0, count: 20)

    private static func delay(_ model: inout FaultModel) throws -> Double? {
        guard case .arrives(let delay) = model.fate(of: try #require(Packet(packet))) else { return nil }
        return delay
    }

    @Test("every packet takes the latency, and the delay of a fault in addition; a cut loses it")
    func latency() throws {
        let place = FaultModel.Place(one: try #require(VirtualNetwork.Address("10.0.0.2")), other: nil, port: nil)
        var model = FaultModel(seed: 1, latency: 1.5)
        #expect(try Self.delay(&model) == 1.5)
        model.set(VirtualNetwork.Fault(delay: 20...20), at: place)
        #expect(try Self.delay(&model) == 21.5)
        model.set(VirtualNetwork.Fault(isCut: true), at: place)
        #expect(try Self.delay(&model) == nil)
        model.set(nil, at: place)
        #expect(try Self.delay(&model) == 1.5)
    }

    @Test("an address has four bytes")
    func addresses() {
        #expect(VirtualNetwork.Address("198.18.0.1")?.description == "198.18.0.1")
        for text in ["", "198.18.0", "198.18.0.1.1", "198.18.0.256", "198.18..1", "localhost"] {
            #expect(VirtualNetwork.Address(text) == nil)
        }
    }

    @Test("PostgreSQL and Redis run on hosts of their own", .enabled(if: VirtualNetwork.obstacle == nil))
    func servers() async throws {
        let surroundings = try await Surroundings.make([.network], latency: 1)
        let network = try #require(surroundings.network)
        let (first, second) = (try await network.host(), try await network.host())
        let redis = try await TestServers.privateRedis(arguments: ["--protected-mode", "no"], on: first.server)
        let postgres = try await surroundings.startPostgres([:], data: nil, on: second)
        #expect(try await redis.run("PING") == "PONG")
        #expect(try await postgres.runSQL("SELECT 1") == "1\n")
        #expect((redis.host, postgres.host) == (first.address.description, second.address.description))
        #expect(LoopbackPort.isFree(redis.port) && LoopbackPort.isFree(postgres.port))
        #expect(network.processorTime > 0)
        await redis.stop()
        await postgres.discard()
        await surroundings.end()
    }
}
