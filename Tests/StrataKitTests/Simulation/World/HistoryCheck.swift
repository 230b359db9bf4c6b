// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

@testable import StrataKit

/// The invariants at the end of a history.
struct HistoryCheck {
    let world: SimulatedWorld

    func run() throws {
        guard world.violations.isEmpty else { return }
        for device in world.devices where !device.isAtRest {
            let operations = device.core.queue.all.map { "\($0.change.name) \($0.state)" }
            world.violation("\(device.name) does not come to rest: \(device.machine) \(operations)")
        }
        guard world.violations.isEmpty else { return }
        for device in world.devices { try compare(device) }
        if world.violations.isEmpty { try compareFresh() }
        for device in world.devices { checkChanges(of: device) }
        checkExecutions()
        for device in world.devices { try checkOrder(of: device) }
        for device in world.devices { try checkSteadiness(of: device) }
    }

    // MARK: The state

    /// Expects a device that loads everything anew to have the server's state.
    private func compareFresh() throws {
        for user in world.users {
            let device = try world.addDevice(for: user)
            let limit = world.now + 600_000_000
            while world.violations.isEmpty, world.step(until: limit) {}
            if !device.isAtRest { world.violation("a fresh device of \(user) does not come to rest") }
            try compare(device)
        }
    }

    private func compare(_ device: SimulatedDevice) throws {
        let me = device.me
        let expected = world.server.database.conversations.values.filter { $0.isSeen(by: me) }
        try device.core.read { store in
            let here = try ConversationID.fetchAll(store.db, "SELECT id FROM conversation WHERE is_visible")
            let missing = Set(expected.map(\.id)).subtracting(here)
            let surplus = Set(here).subtracting(expected.map(\.id))
            if !missing.isEmpty { world.violation("\(device.name) lacks \(missing)") }
            if !surplus.isEmpty { world.violation("\(device.name) has \(surplus), which the server does not show") }
            for conversation in expected.sorted(by: { $0.id.description < $1.id.description })
            where here.contains(conversation.id) {
                try StateComparison(world: world, device: device, store: store, conversation: conversation).run()
            }
            let places = try ConversationID.fetchAll(
                store.db, "SELECT DISTINCT conversation FROM message WHERE position IS NOT NULL")
            let orphans = Set(places).subtracting(here)
            if !orphans.isEmpty { world.violation("\(device.name) has messages of \(orphans), which are not there") }
        }
    }

    // MARK: Changes

    private func checkChanges(of device: SimulatedDevice) {
        let (diary, record) = (device.diary, world.server.record)
        for (_, name) in diary.ended.sorted(by: { $0.value < $1.value }) where !record.answered.contains(name) {
            world.violation("\(device.name): \(name) ended, and was never carried out")
        }
        for operation in device.core.queue.all where operation.failure != nil && !diary.failed.contains(operation.id) {
            world.violation("\(device.name): \(operation.change.name) failed, and was not reported")
        }
        for (value, setting) in diary.settings.sorted(by: { $0.key < $1.key })
        where record.values[value] == nil && isReachable(setting, device) {
            world.violation("\(device.name): \(value) at \(setting.path) in \(setting.conversation) was never set")
        }
    }

    /// Returns false if the user can no longer see the setting's conversation; the setting may have been lost with it.
    private func isReachable(_ setting: DeviceDiary.Setting, _ device: SimulatedDevice) -> Bool {
        world.server.database.conversations[setting.conversation].map { $0.isTold(to: device.me) } ?? false
    }

    private func checkExecutions() {
        let record = world.server.record
        for (name, times) in record.executions.sorted(by: { $0.key < $1.key })
        where times.values.contains(where: { $0 > 1 }) {
            world.violation("\(name) was carried out several times")
        }
        for (value, times) in record.values.sorted(by: { $0.key < $1.key })
        where times.values.contains(where: { $0 > 1 }) {
            world.violation("\(value) was set several times")
        }
    }

    private func checkOrder(of device: SimulatedDevice) throws {
        var lists: [ConversationID: [MessageID]] = [:]
        for (conversation, message) in device.diary.sent {
            lists[try device.core.read { try $0.resolve(conversation) }, default: []].append(message)
        }
        for (id, messages) in lists {
            guard let conversation = world.server.database.conversations[id] else { continue }
            let positions = messages.compactMap { conversation.message($0)?.position }
            if positions != positions.sorted() {
                world.violation("\(device.name): messages of \(id) are not in the order of sending")
            }
        }
    }

    /// Expects the visible value of the steady key never to revert to an earlier one.
    private func checkSteadiness(of device: SimulatedDevice) throws {
        guard world.server.record.epoch == 1 else { return }
        let order = world.server.record.order
        for transition in device.diary.transitions {
            guard let before = transition.before.flatMap({ order[$0] }) else { continue }
            guard let after = transition.after else {
                world.violation("\(device.name): \(transition) vanished")
                continue
            }
            if let after = order[after], after < before { world.violation("\(device.name): \(transition) went back") }
        }
    }
}

extension ConversationID {
    static func fetchAll(_ db: Database, _ sql: String) throws -> [ConversationID] {
        try db.cachedStatement(sql: sql).all([], in: db) { ConversationID(rawValue: $0[0]) }
    }
}
