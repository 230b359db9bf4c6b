// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// Changes of the parts of messages that this user sent.
extension StoreTransaction {
    /// Changes the parts of a message. If the message has not been sent yet, the change is merged into it.
    func changeParts(_ change: PartChange, of id: MessageID) throws {
        guard let touched = try touch(id, in: nil), let shown = touched.before else {
            throw StrataError(.messageDeleted, "The message \(id.layerID) is not on this device.")
        }
        let conversation = touched.conversation
        _ = try conversationToChange(conversation)
        try checkPartChange(change, of: try current(touched, id: id) ?? shown)
        let send = queue.operations(on: id, in: conversation)
            .first { if case .sendMessage = $0.change { true } else { false } }
        if let send, send.failure != nil {
            throw StrataError(.objectNotSent, "The message \(id.layerID) was refused; send its parts in a new one.")
        }
        if let send, send.state == .waiting, !send.change.parts.contains(where: { $0.transferStatus == .uploading }) {
            var parts = send.change.parts
            // The parts of an unsent message need not keep their ids.
            parts.apply(change, keepsID: false)
            return try replace(send, by: send.change.withParts(parts))
        }
        var operation = try enqueue(.changeParts(id, change.keepingID), in: conversation)
        // Use a new idempotency key. The part may have been uploaded with other content, which the server would return
        // for the old key.
        let uploads = operation.change.parts.filter { $0.body == nil }
            .map { ($0.id, QueuedOperation.Upload(name: newID())) }
        operation.uploads = Dictionary(uploads) { $1 }
        queue.updateOperation(operation)
    }

    /// Returns the visible state of the message, including the changes of this transaction.
    private func current(_ touched: TouchedMessage, id: MessageID) throws -> MessageRecord? {
        Overlay.message(touched.server, with: queue.operations(on: id, in: touched.conversation), me: me)
    }

    private func checkPartChange(_ change: PartChange, of message: MessageRecord) throws {
        guard message.sender == me else {
            throw StrataError(.invalidMessage, "Only its sender can change the parts of a message.")
        }
        if let part = change.target, !message.parts.contains(where: { $0.id == part }) {
            throw StrataError(.invalidArgument, "part: is not a part of \(message.id.layerID).")
        }
        var parts = message.parts
        parts.apply(change, keepsID: true)
        guard (1...Limits.partsPerMessage).contains(parts.count) else {
            throw StrataError(.invalidMessage, "A message has 1 to \(Limits.partsPerMessage) parts.")
        }
    }
}

extension [PartRecord] {
    /// Applies a change. A change that is already contained has no effect.
    /// - Parameter keepsID: true if a replacement takes the id of the part that it replaces.
    mutating func apply(_ change: PartChange, keepsID: Bool) {
        switch change {
        case .add(let part): if !contains(where: { $0.id == part.id }) { append(part) }
        case .replace(let id, var part):
            guard let place = firstIndex(where: { $0.id == id }) else { return }
            if keepsID { part.id = id }
            self[place] = part
        case .remove(let id): removeAll { $0.id == id }
        case .setAll(let parts): self = parts
        }
    }
}
