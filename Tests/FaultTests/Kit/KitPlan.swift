// SPDX-License-Identifier: Apache-2.0

import KitClient
import SeededRandom
import TestSupport

/// The random behaviour of the apps in a trial.
struct KitPlan: Sendable {
    /// The initial conversations, with all users as participants.
    let conversations: [String]
    let users: [String]
    /// The pause between two changes of one app, in milliseconds.
    var pause = 5...60

    /// Returns a random change. Its texts and values are unique.
    /// - Parameter records: the earlier changes of the device.
    func action(
        of device: String, number: Int, knowing records: [KitRecord], _ generator: inout SeededGenerator
    ) -> KitCommand.Action {
        let own = records.filter { $0.outcome == .accepted && $0.isCreation }.compactMap(\.conversation)
        let id = generator.chance(15) && !own.isEmpty ? generator.pick(own) : generator.pick(conversations)
        // Only use conversations that exist on the server. Metadata set before a conversation is sent become part of
        // its creation, without their own entry in the log.
        let old = generator.pick(conversations)
        let mark = "\(device)-\(number)"
        switch generator.int(0...99) {
        case 0...46: return .send(conversation: id, text: "text \(mark)")
        case 47...58: return .set(conversation: old, path: "\(KitPath.once).\(mark)", value: "value \(mark)")
        case 59...64: return .set(conversation: old, path: generator.pick(KitPath.contended), value: "value \(mark)")
        case 65...69: return .set(conversation: old, path: KitPath.last(of: device), value: "value \(mark)")
        case 70...75:
            return generator.chance(50)
                ? .add(conversation: id, user: guest(of: device)) : .remove(conversation: id, user: guest(of: device))
        case 76...92: return .read(conversation: id)
        case 93...95: return .delete(conversation: id)
        default:
            return .create(
                others: users.filter { !device.hasPrefix($0) }, isDistinct: false, metadata: [:], text: "first \(mark)")
        }
    }

    /// Returns a user without a device, whom only this device adds and removes.
    func guest(of device: String) -> String { "guest-\(device)" }
}

/// The metadata paths that the apps of a trial write.
enum KitPath {
    /// The prefix of paths that are each written once.
    static let once = "once"
    /// The paths that all devices write.
    static let contended = ["title", "a", "a.b"]
    /// Returns the path that one device writes repeatedly: its last value must win.
    static func last(of device: String) -> String { "last.\(device)" }
}

extension KitRecord {
    var isCreation: Bool { if case .create = action { true } else { false } }
    var isDeletion: Bool { if case .delete = action { true } else { false } }
}
