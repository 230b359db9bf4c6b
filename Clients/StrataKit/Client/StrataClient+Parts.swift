// SPDX-License-Identifier: Apache-2.0
import StrataModel

extension StrataClient {
    func changeParts(
        of message: Message, parts: [NewMessagePart] = [], _ change: @Sendable @escaping ([PartRecord]) throws -> PartChange
    ) async throws {
        let records = try await prepareParts(parts)
        try await signedIn().change { store in try store.changeParts(try change(records), of: message.id) }
    }
}

/// Changes of messages that this user has sent. They are shown at once, are sent like all changes, and reach all users who see the message.
extension Message {
    /// Adds a part behind the others.
    /// - Throws: ``StrataError/Code/invalidMessage`` if the message is not of this user, or has ``Limits/partsPerMessage`` parts already;
    ///   ``StrataError/Code/messageDeleted``, ``StrataError/Code/userNotAParticipant``, ``StrataError/Code/objectNotSent`` if the server has refused the message.
    public func add(_ part: NewMessagePart) async throws {
        try await owner.get().changeParts(of: self, parts: [part]) { .add($0[0]) }
    }

    /// Replaces one part. Once the message is sent, the new part has the id of the old one.
    /// - Throws: as ``add(_:)``, and ``StrataError/Code/invalidArgument`` if `old` is not a part of the message.
    public func replace(_ old: MessagePart, with part: NewMessagePart) async throws {
        try await owner.get().changeParts(of: self, parts: [part]) { .replace(old.id, $0[0]) }
    }

    /// Removes a part.
    /// - Throws: as ``replace(_:with:)``, and ``StrataError/Code/invalidMessage`` for the last part.
    public func remove(_ part: MessagePart) async throws {
        try await owner.get().changeParts(of: self) { _ in .remove(part.id) }
    }

    /// Replaces all parts.
    /// - Throws: as ``add(_:)``, and ``StrataError/Code/invalidMessage`` for no parts.
    public func setParts(_ parts: [NewMessagePart]) async throws {
        try await owner.get().changeParts(of: self, parts: parts) { .setAll($0) }
    }
}
