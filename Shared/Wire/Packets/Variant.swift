// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// All properties of a socket that affect the rendering of a change. Sockets with equal variants share the rendering.
public struct Variant: Hashable, Sendable {
    enum Role: Hashable, Sendable {
        /// All readers see the same.
        case anyone
        /// Added by this change. The reader needs the whole conversation, see
        /// ``Renderer/conversationCreated(_:for:version:at:)``.
        case added
        /// The change altered the reader's counts, which are sent only to the reader.
        case affected
        /// The change is not sent to all readers. This one receives the part that concerns them.
        case named(UserID)
        /// The reader does not receive the change.
        case excluded
        /// The reader's relation to the message in the change: the new or the last one.
        case reader(MessageReader)
        /// The reader has a different last message than the other readers.
        case override(UserID)
    }
    /// The protocol version of the socket.
    public let version: WireVersion
    let role: Role
    /// True if counts are included. False in a replay, which ends with current counts.
    public let includesCounts: Bool

    /// Creates the variant of `change` for `reader`.
    /// - Parameter knowsConversation: true if the reader already has the conversation's state after this change. A
    ///   change that added the reader is then rendered as for others.
    public init(
        of change: Change, for reader: UserID, version: WireVersion, includesCounts: Bool = true,
        knowsConversation: Bool = false
    ) {
        self.version = version
        self.includesCounts = includesCounts
        if change.hiddenFrom.contains(reader) {
            role = .excluded
            return
        }
        switch change.content {
        case .conversationCreated, .metadataChanged, .conversationDeleted: role = .anyone
        case .participantsChanged(let added, _, _, _):
            role = !knowsConversation && added.contains { $0.userID == reader } ? .added : .anyone
        case .messageCreated(_, _, let message):
            role = message.map { .reader(MessageReader(reader, of: $0)) } ?? .anyone
        case .messageDeleted(_, _, let last):
            if last.overrides[reader] != nil {
                role = .override(reader)
            } else {
                role = last.message.map { .reader(MessageReader(reader, of: $0)) } ?? .anyone
            }
        case .receipts(let receipts):
            if receipts.allSatisfy({ $0.audience == .everybody && $0.hiddenFrom.isEmpty }) {
                role = Variant.areCountsAltered(by: receipts, in: change, of: reader) ? .affected : .anyone
            } else {
                role = receipts.contains { $0.concerns(reader) } ? .named(reader) : .excluded
            }
        case .allRead(let user, _, let audience):
            if user == reader {
                role = .affected
            } else {
                role = audience.map { $0.contains(reader) } ?? true ? .anyone : .excluded
            }
        // 2.0 clients receive a changed message as a whole, rendered for each kind of reader.
        case .partsChanged(_, _, _, let message):
            role = version == .v2 ? message.map { .reader(MessageReader(reader, of: $0)) } ?? .anyone : .anyone
        }
    }

    static func areCountsAltered(by receipts: [Change.Receipt], in change: Change, of reader: UserID) -> Bool {
        change.counts[reader] != nil || receipts.contains { $0.user == reader && $0.status == .read }
    }

    /// True if the change added the reader. ``Renderer/tails(for:variant:)`` is then empty, and the reader receives
    /// ``Renderer/conversationCreated(_:for:version:at:)`` with their own view.
    public var needsView: Bool { role == .added }
}
