// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Everything in which two sockets can need a change to be rendered differently. Sockets with equal variants share the rendering.
public struct Variant: Hashable, Sendable {
    enum Role: Hashable, Sendable {
        /// All see the same.
        case anyone
        /// Added by this change: needs the whole conversation, see ``Renderer/conversationCreated(_:for:version:at:)``.
        case added
        /// The change altered the reader's counts, and only the reader is told.
        case affected
        /// The reader is told the part that concerns them of a change that not all users are told.
        case named(UserID)
        /// Is told nothing of it.
        case excluded
        /// Sees a message (the new or the last one) like this.
        case reader(MessageReader)
        /// Sees another last message than all the others.
        case override(UserID)
    }
    /// Of the socket.
    public let version: WireVersion
    let role: Role
    /// False in a replay, which ends with current counts instead of telling old ones.
    public let includesNumbers: Bool

    /// How `reader` needs `change`.
    /// - Parameter knowsConversation: the reader has been shown it as it is after this change, so that a change by which they came is told as to others.
    public init(
        of change: Change, for reader: UserID, version: WireVersion, includesNumbers: Bool = true, knowsConversation: Bool = false
    ) {
        self.version = version
        self.includesNumbers = includesNumbers
        if change.hiddenFrom.contains(reader) {
            role = .excluded
            return
        }
        switch change.content {
        case .conversationCreated, .metadataChanged, .conversationDeleted: role = .anyone
        case .participantsChanged(let added, _, _, _): role = !knowsConversation && added.contains { $0.userID == reader } ? .added : .anyone
        case .messageCreated(_, _, let message): role = message.map { .reader(MessageReader(reader, of: $0)) } ?? .anyone
        case .messageDeleted(_, _, let last):
            if last.overrides[reader] != nil {
                role = .override(reader)
            } else {
                role = last.message.map { .reader(MessageReader(reader, of: $0)) } ?? .anyone
            }
        case .receipts(let receipts):
            if receipts.allSatisfy({ $0.audience == .everybody && $0.hiddenFrom.isEmpty }) {
                role = Variant.areNumbersAltered(by: receipts, in: change, of: reader) ? .affected : .anyone
            } else {
                role = receipts.contains { $0.concerns(reader) } ? .named(reader) : .excluded
            }
        case .allRead(let user, _, let toldTo):
            if user == reader {
                role = .affected
            } else {
                role = toldTo.map { $0.contains(reader) } ?? true ? .anyone : .excluded
            }
        // To 2.0 clients a changed message is sent whole, as each of them sees it.
        case .partsChanged(_, _, _, let message):
            role = version == .v2 ? message.map { .reader(MessageReader(reader, of: $0)) } ?? .anyone : .anyone
        }
    }

    /// Whether receipts altered the counts of `reader`.
    static func areNumbersAltered(by receipts: [Change.Receipt], in change: Change, of reader: UserID) -> Bool {
        change.numbers[reader] != nil || receipts.contains { $0.user == reader && $0.status == .read }
    }

    /// Whether the change added the reader, so that ``Renderer/tails(for:variant:)`` is empty and the reader is sent
    /// ``Renderer/conversationCreated(_:for:version:at:)`` with their own view instead.
    public var needsView: Bool { role == .added }
}
