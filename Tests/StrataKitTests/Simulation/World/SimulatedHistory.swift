// SPDX-License-Identifier: Apache-2.0
import Foundation
import SeededRandom
import StrataModel

@testable import StrataKit

/// A random history: users act while the network and the server fail. After a calm phase the states of the devices are
/// compared.
struct SimulatedHistory {
    var users = 3
    var devices = 4
    var steps = 25
    var faults: @Sendable (inout SeededGenerator) -> SimulatedWorld.Faults
    var sabotage: Sabotage?

    struct Report: Sendable {
        var seed: UInt64
        var violations: [String]
        var trace: [String]
        /// A number that changes if any event of the history changes.
        var digest: Int
        var accepted: Int
    }

    /// The virtual time, in microseconds, after which a device that is not at rest counts as stuck.
    private static let patience: Int64 = 3_600_000_000

    func run(_ seed: UInt64, traces: Bool = false) throws -> Report {
        var random = SeededGenerator(seed: seed &* 31)
        let faults = faults(&random)
        let world = try SimulatedWorld(
            seed: seed, users: users, devices: devices, faults: faults, sabotage: sabotage, traces: traces)
        schedule(world, &random)
        let end = world.now + 120_000_000
        while world.violations.isEmpty, world.step(until: end) {}
        calm(world)
        let limit = world.now + Self.patience
        while world.violations.isEmpty, world.step(until: limit) {}
        try HistoryCheck(world: world).run()
        return Report(
            seed: seed, violations: world.violations, trace: world.trace, digest: digest(world),
            accepted: world.devices.map(\.diary.accepted).reduce(0, +))
    }

    /// Schedules all actions of users, and all faults of devices and server, within about two minutes.
    private func schedule(_ world: SimulatedWorld, _ random: inout SeededGenerator) {
        func time() -> Int64 { world.now + Int64(random.int(1...100_000)) * 1000 }
        for index in 0..<devices {
            for _ in 0..<steps {
                world.at(time()) { world.act(index) }
                if random.chance(world.faults.kill) { world.at(time()) { world.kill(index) } }
                if random.chance(world.faults.cut) {
                    world.at(time()) { if let socket = world.devices[index].socket { world.cut(socket) } }
                }
            }
        }
        for _ in 0..<world.faults.restores {
            let saved = time()
            world.at(saved) { [unowned world] in
                let old = world.server.database
                world.at(world.now + 20_000_000) { [unowned world] in
                    world.note("the database is put back")
                    world.server.restore(old)
                }
            }
        }
    }

    /// Ends all faults and connects every device.
    private func calm(_ world: SimulatedWorld) {
        world.note("calm")
        world.faults.cut = 0
        world.faults.loss = 0
        world.faults.server = ModelServer.Faults()
        world.server.faults = ModelServer.Faults()
    }

    private func digest(_ world: SimulatedWorld) -> Int {
        var digest = Int(truncatingIfNeeded: world.now)
        for conversation in world.server.database.conversations.values.sorted(by: {
            $0.id.description < $1.id.description
        }) {
            for byte in "\(conversation.id) \(conversation.head) \(conversation.messages.map(\.id.description))".utf8 {
                digest = digest &* 31 &+ Int(byte)
            }
        }
        return digest
    }
}
