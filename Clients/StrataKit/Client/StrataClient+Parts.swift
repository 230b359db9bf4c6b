// SPDX-License-Identifier: Apache-2.0
import StrataModel

extension StrataClient {
    func changeParts(
        of message: Message, parts: [NewMessagePart] = [],
        _ change: @Sendable @escaping ([PartRecord]) throws -> PartChange
    ) async throws {
        let records = try await prepareParts(parts)
        try await signedIn().change { store in try store.changeParts(try change(records), of: message.id) }
    }
}

/// Changes of messages that this user sent. They take effect on this device immediately, are queued like all changes,
/// and reach all users who can see the message.
extension Message {
    /// Appends a part to the message.
    /// - Throws: ``StrataError/Code/invalidMessage`` if another user sent the message, or if it already has
    ///   ``Limits/partsPerMessage`` parts; ``StrataError/Code/messageDeleted``;
    ///   ``StrataError/Code/userNotAParticipant``; ``StrataError/Code/objectNotSent`` if the server refused the
    ///   message.
    public func add(_ part: NewMessagePart) async throws {
        try await owner.get().changeParts(of: self, parts: [part]) { .add($0[0]) }
    }

    /// Replaces one part. If the message was already sent, the new part keeps the id of the old one.
    /// - Throws: the errors of ``add(_:)``; ``StrataError/Code/invalidArgument`` if `old` is not a part of the message.
    public func replace(_ old: MessagePart, with part: NewMessagePart) async throws {
        try await owner.get().changeParts(of: self, parts: [part]) { .replace(old.id, $0[0]) }
    }

    /// Removes a part.
    /// - Throws: the errors of ``replace(_:with:)``; ``StrataError/Code/invalidMessage`` for the last part.
    public func remove(_ part: MessagePart) async throws {
        try await owner.get().changeParts(of: self) { _ in .remove(part.id) }
    }

    /// Replaces all parts.
    /// - Throws: the errors of ``add(_:)``; ``StrataError/Code/invalidMessage`` for no parts.
    public func setParts(_ parts: [NewMessagePart]) async throws {
        try await owner.get().changeParts(of: self, parts: parts) { .setAll($0) }
    }
}
