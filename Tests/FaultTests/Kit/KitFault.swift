// SPDX-License-Identifier: Apache-2.0

import KitClient
import LocalServers
import SeededRandom
import TestCluster
import TestSupport
import Testing

/// Something that happens to apps that are built with StrataKit, or to the system they use, and passes.
enum KitFault: CaseIterable, Sendable, CustomTestStringConvertible {
    case appsKilled
    case gatewayKilled, conversationsKilled, metadataKilled, presenceKilled
    case networkCut, networkSlow, networkFlapping
    case clockAhead, clockBehind
    case diskFull, filesLimited
    case storeOverwritten, storeTruncated

    /// What excludes each other.
    static let groups: [[KitFault]] = [
        [.appsKilled], [.gatewayKilled, .conversationsKilled, .metadataKilled, .presenceKilled], [.networkCut, .networkSlow, .networkFlapping],
        [.clockAhead, .clockBehind], [.diskFull, .filesLimited], [.storeOverwritten, .storeTruncated],
    ]

    /// Those that can happen on this machine.
    static let possible = allCases.filter { $0.obstacle == nil }

    /// Why it cannot happen on this machine.
    var obstacle: String? {
        switch self {
        case .clockAhead, .clockBehind: MovableClock.obstacle
        case .diskFull: SmallDisk.obstacle
        default: nil
        }
    }

    var testDescription: String {
        switch self {
        case .appsKilled: "apps are killed at boundaries of their stores' statements"
        case .gatewayKilled: "a gateway is killed"
        case .conversationsKilled: "an instance of conversations is killed"
        case .metadataKilled: "an instance of metadata is killed"
        case .presenceKilled: "an instance of presence is killed"
        case .networkCut: "apps have no network"
        case .networkSlow: "what apps send and receive takes 50 to 400 ms longer"
        case .networkFlapping: "the connections of apps are cut again and again"
        case .clockAhead: "the apps' clocks jump two hours ahead and back"
        case .clockBehind: "the apps' clocks jump two hours back and ahead"
        case .diskFull: "the disk of the stores is full"
        case .filesLimited: "no file of a store may grow any more"
        case .storeOverwritten: "blocks of stores are overwritten while apps are down"
        case .storeTruncated: "files of stores are cut short while apps are down"
        }
    }
}

extension KitFault {
    /// Lets it happen, and pass again.
    func happen(to cluster: Cluster, _ devices: [KitDevice], disk: SmallDisk?, for period: Duration, _ generator: inout SeededGenerator) async throws
    {
        switch self {
        case .appsKilled: try await Task.sleep(for: period)
        case .gatewayKilled: try await kill(generator.pick(cluster.instances(of: .gateway)), for: period)
        case .conversationsKilled: try await kill(generator.pick(cluster.instances(of: .conversations)), for: period)
        case .metadataKilled: try await kill(generator.pick(cluster.instances(of: .metadata)), for: period)
        case .presenceKilled: try await kill(generator.pick(cluster.instances(of: .presence)), for: period)
        case .networkCut, .networkSlow, .networkFlapping: try await happenToNetwork(of: devices, for: period, &generator)
        case .clockAhead, .clockBehind:
            let seconds = self == .clockAhead ? 7200 : -7200
            for device in devices { try device.clock?.jump(to: seconds) }
            // It is noticed within a second.
            try await Task.sleep(for: period + .seconds(1))
            for device in devices { try device.clock?.jump(to: 0) }
        case .diskFull:
            try disk?.fill()
            try await Task.sleep(for: period)
            disk?.free()
        case .filesLimited:
            for device in devices { device.order(.limitFiles(room: generator.int(0...20_000))) }
            try await Task.sleep(for: period)
            for device in devices { device.order(.limitFiles(room: nil)) }
        case .storeOverwritten, .storeTruncated: try await damageStores(of: devices, for: period, &generator)
        }
    }

    private func kill(_ process: ServiceProcess, for period: Duration) async throws {
        await process.kill()
        try await Task.sleep(for: period)
        try await process.start()
    }

    private func happenToNetwork(of devices: [KitDevice], for period: Duration, _ generator: inout SeededGenerator) async throws {
        let end = ContinuousClock.now + period
        switch self {
        case .networkCut:
            for device in devices {
                if generator.chance(50) { device.proxy.loseAnswers() }
                try await Task.sleep(for: .milliseconds(generator.int(1...100)))
                device.proxy.goDown()
            }
            try await Task.sleep(until: end)
            for device in devices { device.proxy.comeBack() }
        case .networkSlow:
            for device in devices { device.proxy.setDelay(50...400) }
            try await Task.sleep(until: end)
            for device in devices { device.proxy.setDelay(nil) }
        default:
            while ContinuousClock.now < end {
                for device in devices where generator.chance(50) {
                    if generator.chance(50) { device.proxy.loseAnswers() } else { device.proxy.cut() }
                }
                try await Task.sleep(for: .milliseconds(generator.int(20...250)))
            }
            // A connection that loses answers is of no use any more.
            for device in devices { device.proxy.cut() }
        }
    }

    /// Apps make changes without a network; then half of them are killed, and their stores are damaged before they are started again.
    private func damageStores(of devices: [KitDevice], for period: Duration, _ generator: inout SeededGenerator) async throws {
        let kind: StoreDamage = self == .storeOverwritten ? .overwritten : .truncated
        let rounds = max(1, Int(period / .seconds(2)))
        for _ in 0..<rounds {
            for device in devices { device.proxy.goDown() }
            try await Task.sleep(for: period / (2 * rounds))
            for device in devices where generator.chance(70) {
                let seed = generator.next()
                await device.interrupt { device in
                    var generator = SeededGenerator(seed: seed)
                    // Of a store that is damaged for the second time nothing may be readable; of one that does not exist yet there is nothing to damage.
                    if let lost = try? kind.happen(below: device.folder, &generator) { await device.noteDamage(lost: lost) }
                }
            }
            try await Task.sleep(for: period / (2 * rounds))
            for device in devices { device.proxy.comeBack() }
        }
    }
}
