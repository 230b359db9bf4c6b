// SPDX-License-Identifier: Apache-2.0

import KitClient
import LocalServers
import SeededRandom
import TestCluster
import TestSupport
import Testing

/// A temporary fault of apps, or of their environment.
enum KitFault: CaseIterable, Sendable, CustomTestStringConvertible {
    case appsKilled
    case gatewayKilled, conversationsKilled, metadataKilled, presenceKilled
    case networkCut, networkSlow, networkFlapping
    case clockAhead, clockBehind
    case diskFull, filesLimited
    case storeOverwritten, storeTruncated

    /// The groups of mutually exclusive faults.
    static let groups: [[KitFault]] = [
        [.appsKilled], [.gatewayKilled, .conversationsKilled, .metadataKilled, .presenceKilled],
        [.networkCut, .networkSlow, .networkFlapping],
        [.clockAhead, .clockBehind], [.diskFull, .filesLimited], [.storeOverwritten, .storeTruncated],
    ]

    static let possible = allCases.filter { $0.obstacle == nil }

    /// The reason why this machine cannot inject the fault; nil if it can.
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
    /// Injects the fault, waits, and ends it.
    func inject(
        into cluster: Cluster, _ devices: [KitDevice], disk: SmallDisk?, for period: Duration,
        _ generator: inout SeededGenerator
    ) async throws {
        switch self {
        case .appsKilled: try await Task.sleep(for: period)
        case .gatewayKilled: try await kill(generator.pick(cluster.instances(of: .gateway)), for: period)
        case .conversationsKilled: try await kill(generator.pick(cluster.instances(of: .conversations)), for: period)
        case .metadataKilled: try await kill(generator.pick(cluster.instances(of: .metadata)), for: period)
        case .presenceKilled: try await kill(generator.pick(cluster.instances(of: .presence)), for: period)
        case .networkCut, .networkSlow, .networkFlapping:
            try await injectIntoNetwork(of: devices, for: period, &generator)
        case .clockAhead, .clockBehind:
            let seconds = self == .clockAhead ? 7200 : -7200
            for device in devices { try device.clock?.jump(to: seconds) }
            // A clock jump is noticed within a second.
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

    private func injectIntoNetwork(
        of devices: [KitDevice], for period: Duration, _ generator: inout SeededGenerator
    ) async throws {
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
            // A connection that has lost answers is useless.
            for device in devices { device.proxy.cut() }
        }
    }

    /// Lets apps make changes without a network, kills most of them, and damages their stores before they are
    /// restarted.
    private func damageStores(
        of devices: [KitDevice], for period: Duration, _ generator: inout SeededGenerator
    ) async throws {
        let kind: StoreDamage = self == .storeOverwritten ? .overwritten : .truncated
        let rounds = max(1, Int(period / .seconds(2)))
        for _ in 0..<rounds {
            for device in devices { device.proxy.goDown() }
            try await Task.sleep(for: period / (2 * rounds))
            for device in devices where generator.chance(70) {
                let seed = generator.next()
                await device.interrupt { device in
                    var generator = SeededGenerator(seed: seed)
                    // A store that is damaged twice may be entirely unreadable. A store that does not exist yet cannot
                    // be damaged.
                    if let lost = try? kind.inject(below: device.folder, &generator) {
                        await device.noteDamage(lost: lost)
                    }
                }
            }
            try await Task.sleep(for: period / (2 * rounds))
            for device in devices { device.proxy.comeBack() }
        }
    }
}
