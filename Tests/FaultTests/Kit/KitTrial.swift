// SPDX-License-Identifier: Apache-2.0

import KitClient
import SeededRandom
import TestCluster
import TestSupport
import Testing

@testable import Soak

/// A trial: apps that make changes, faults, and the judgement of the histories.
struct KitTrial: Sendable {
    let faults: [KitFault]
    let seed: UInt64
    let period: Duration
    /// The libraries of the apps, in turn.
    var libraries = [KitLibrary.strataKit]

    var name: String {
        let names = libraries.count > 1 ? " (\(libraries.map(\.rawValue).joined(separator: " and ")))" : ""
        return faults.map(\.testDescription).joined(separator: "; ") + names
    }

    /// The apps, each on its own device. Two of them belong to one user.
    private static let devices = [("ana", 1), ("ben", 1), ("cleo", 1), ("ana", 2)]

    /// Runs the trial and records an issue for each violation.
    func run(on cluster: Cluster) async throws -> KitFaultTable.Row {
        let (row, violations) = try await judge(cluster)
        for violation in violations.prefix(20) { Issue.record("\(name), seed \(seed): \(violation)") }
        // A trial without changes would prove nothing.
        #expect(row.accepted > 10)
        return row
    }

    /// Runs the trial and returns the violations to the caller.
    /// - Parameter patience: the maximum time for the stores to become equal to a fresh load.
    func judge(
        _ cluster: Cluster, patience: Duration = .seconds(60)
    ) async throws -> (row: KitFaultTable.Row, violations: [Violation]) {
        let disk = faults.contains(.diskFull) ? try await SmallDisk.mount(megabytes: 16) : nil
        let users = try await cluster.app().signIn(["ana", "ben", "cleo"])
        let scene = try await scene(users)
        let devices = try await devices(of: users, scene, disk)
        let begun = ContinuousClock.now
        try await load(devices, cluster, disk)
        let healed = ContinuousClock.now
        var (differences, story): ([String], KitStory) = ([], KitStory())
        differences = try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
            for (index, device) in devices.enumerated() {
                group.addTask { (index, try await device.settle(until: healed + patience)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
        for device in devices { story.add(await device.story) }
        // On a full disk a store cannot be opened.
        if !faults.contains(.diskFull) { story.faults += story.notOpened }
        let recovery = ContinuousClock.now - healed
        let made = story.records.filter(\.isCreation).compactMap { record in record.conversation.map { ($0, record) } }
        var conversations = try await ServerState.read(scene.conversations + made.map(\.0), of: users, on: cluster)
        // Ignore conversations that are not on the server and whose acceptance is unknown.
        let open = Set(made.filter { !story.mustArrive($0.1) }.map(\.0))
        conversations.removeAll { $0.log.isEmpty && open.contains($0.id) }
        let violations = KitJudge.violations(of: story, differences: differences, conversations: conversations)
        await disk?.unmount()
        return (
            KitFaultTable.Row(
                name, story, violations, devices: devices.count, duration: healed - begun, recovery: recovery),
            violations
        )
    }

    private func scene(_ users: [TestUser]) async throws -> KitPlan {
        var ids: [String] = []
        for user in users.prefix(2) {
            ids.append(try await user.converse(with: users.filter { $0.user != user.user }, distinct: false).id)
        }
        return KitPlan(conversations: ids, users: users.map(\.user))
    }

    private func devices(of users: [TestUser], _ plan: KitPlan, _ disk: SmallDisk?) async throws -> [KitDevice] {
        var devices: [KitDevice] = []
        let hasClock = faults.contains { $0 == .clockAhead || $0 == .clockBehind }
        for (index, (name, number)) in Self.devices.enumerated() {
            guard let user = users.first(where: { $0.user == name }) else { continue }
            devices.append(
                try await KitDevice(
                    "\(name)\(number)", libraries[index % libraries.count], user, plan,
                    seed: seed &+ UInt64(100 + index),
                    dies: faults.contains(.appsKilled), hasClock: hasClock,
                    disk: disk))
        }
        return devices
    }

    private func load(_ devices: [KitDevice], _ cluster: Cluster, _ disk: SmallDisk?) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for device in devices { group.addTask { try await device.work() } }
            for device in devices where await !device.isSignedIn() {
                throw LoadError("\(device.name) was not signed in: \(await device.log)")
            }
            try await Task.sleep(for: .milliseconds(300))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, fault) in faults.enumerated() {
                    group.addTask {
                        var generator = SeededGenerator(seed: seed &+ UInt64(index))
                        try await fault.inject(into: cluster, devices, disk: disk, for: period, &generator)
                    }
                }
                try await group.waitForAll()
            }
            try await Task.sleep(for: .milliseconds(300))
            for device in devices { device.finish() }
            try await group.waitForAll()
        }
    }
}

extension KitStory {
    mutating func add(_ other: KitStory) {
        records += other.records
        failures += other.failures
        faults += other.faults
        notOpened += other.notOpened
        kills += other.kills
        rebuilt += other.rebuilt
        storeFailures += other.storeFailures
    }

    /// Returns true if a created conversation must exist at the end. A conversation whose only message was deleted
    /// before it was sent is never sent.
    func mustArrive(_ creation: KitRecord) -> Bool {
        let withdrawn = Set(records.filter(\.isDeletion).flatMap(\.objects))
        let isSent = records.contains { record in
            guard record.conversation == creation.conversation, record.outcome == .accepted,
                let message = record.objects.last
            else { return false }
            switch record.action {
            case .create, .send: return !withdrawn.contains(message)
            default: return false
            }
        }
        return isSent && creation.outcome == .accepted && !creation.isUnreadable
            && !failures.contains { $0.operation == "createConversation" && $0.conversation == creation.conversation }
    }
}
