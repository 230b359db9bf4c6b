// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

@testable import StrataKit

/// The history of a device: the results of accepted changes, and the metadata that were visible.
struct DeviceDiary {
    /// A change of the visible value of the steady key.
    struct Transition: Hashable {
        var conversation: ConversationID
        var before: String?
        var after: String?
    }
    /// A value that the user set, unless a later change of the same user replaced it or a failure reverted it.
    struct Setting {
        var conversation: ConversationID
        var path: String
    }

    /// The names of operations that ended successfully.
    private(set) var ended: [UUID: String] = [:]
    private(set) var failed: Set<UUID> = []
    private(set) var transitions: Set<Transition> = []
    private(set) var settings: [String: Setting] = [:]
    /// The messages in sending order, with the id that their conversation had at that time.
    private(set) var sent: [(conversation: ConversationID, message: MessageID)] = []
    private(set) var failedValues: Set<String> = []
    private(set) var accepted = 0

    /// A key that users only set and never delete, so that its visible value must never revert.
    static let steadyKey = "steady"

    mutating func wrote(
        _ before: OutgoingQueue, _ after: OutgoingQueue, _ changes: [ObjectChange], _ findings: SyncFindings,
        isOwn: Bool
    ) {
        for failure in findings.failures { failed.insert(failure.id) }
        for operation in before.all
        where after[operation.id] == nil || after[operation.id]?.failure != nil && operation.failure == nil {
            if failed.contains(operation.id) { forget(operation.change) } else if !isOwn { ended(operation) }
        }
        if isOwn {
            for operation in after.all where before[operation.id] != operation {
                accept(operation, isNew: before[operation.id] == nil)
            }
            withdraw(before, after)
        }
        for (old, new) in findings.merged {
            for (value, setting) in settings where setting.conversation == old { settings[value]?.conversation = new }
        }
        for change in changes { note(change) }
    }

    private mutating func ended(_ operation: QueuedOperation) {
        switch operation.change {
        case .createConversation: ended[operation.id] = operation.conversation.map { "conversation \($0)" }
        case .sendMessage(let message): ended[operation.id] = "message \(message.id)"
        case .patchMetadata, .changeParticipants, .deleteMessage, .deleteConversation:
            ended[operation.id] = "mutation \(operation.id.lowercaseText)"
        // Receipts end without an error if the user can no longer send them.
        default: break
        }
    }

    private mutating func accept(_ operation: QueuedOperation, isNew: Bool) {
        guard let conversation = operation.conversation else { return }
        if isNew { accepted += 1 }
        switch operation.change {
        case .sendMessage(let message): if isNew { sent.append((conversation, message.id)) }
        case .patchMetadata(let steps):
            for step in steps { replace(step, in: conversation) }
            for step in steps {
                for (path, value) in step.values ?? [:] {
                    settings[value] = Setting(conversation: conversation, path: path)
                }
            }
        case .createConversation(let new):
            // Values set since the creation are part of the creation, or were replaced.
            settings = settings.filter { $0.value.conversation != conversation }
            for (path, value) in new.metadata { settings[value] = Setting(conversation: conversation, path: path) }
        case .deleteConversation: settings = settings.filter { $0.value.conversation != conversation }
        default: break
        }
    }

    private mutating func replace(_ step: LocalChange.MetadataStep, in conversation: ConversationID) {
        settings = settings.filter { _, setting in
            setting.conversation != conversation
                || !(step.path.isEmpty || setting.path == step.path || setting.path.hasPrefix(step.path + ".")
                    || step.path.hasPrefix(setting.path + "."))
        }
    }

    /// Forgets the settings of a conversation that was withdrawn before it was sent.
    private mutating func withdraw(_ before: OutgoingQueue, _ after: OutgoingQueue) {
        for operation in before.all where after[operation.id] == nil {
            guard case .createConversation = operation.change, let conversation = operation.conversation else {
                continue
            }
            settings = settings.filter { $0.value.conversation != conversation }
        }
    }

    private mutating func forget(_ change: LocalChange) {
        let values: [String]
        switch change {
        case .patchMetadata(let steps): values = steps.flatMap { ($0.values ?? [:]).values }
        case .createConversation(let new): values = Array(new.metadata.values)
        default: values = []
        }
        for value in values { settings[value] = nil }
        failedValues.formUnion(values)
    }

    private mutating func note(_ change: ObjectChange) {
        guard case .conversation(let conversation) = change.object, case .update(let property) = change.kind,
            property.name == "metadata",
            case .metadata(let before)? = property.before, case .metadata(let after)? = property.after
        else { return }
        let (old, new) = (before[Self.steadyKey], after[Self.steadyKey])
        if let old, old != new {
            transitions.insert(Transition(conversation: conversation.id, before: old, after: new))
        }
    }
}
