// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// The kinds of unsolicited packets that a server sends over sockets: the third part of the authorization matrix.
enum PacketKind: String, CaseIterable, Sendable {
    case conversationCreated = "conversation created"
    case participantsChanged = "participant added"
    case metadataChanged = "metadata set"
    case conversationDeleted = "conversation deleted for all"
    case messageCreated = "message sent"
    case messageDeleted = "message deleted for all"
    case receipts = "message read by the participant"
    case allRead = "all read by the participant"
    case partsChanged = "part added"
    case conversationHidden = "conversation deleted on the participant's devices"
    case conversationShown = "hidden conversation shown to the participant again"
    case messageHidden = "message deleted on the participant's devices"
    case messagesHidden = "messages up to a position deleted on the participant's devices"
    case formerMessageDeleted = "message of before the removal deleted for all"
    case identityChanged = "the participant's identity changed"
    case followed = "another user followed by the participant"
    case unfollowed = "another user unfollowed by the participant"
    case blocked = "another user blocked by the participant"
    case announced = "announced to sender and participant"
    case announcementStatus = "announcement read by the participant"
    case announcementDeleted = "announcement removed by the participant"
    case typing = "the participant types"
    case presence = "the participant's presence, all having subscribed"

    /// The callers who must receive the packet.
    var recipients: Set<Who> {
        switch self {
        case .conversationCreated, .participantsChanged, .metadataChanged, .messageCreated, .messageDeleted, .receipts,
            .allRead, .partsChanged,
            .announced:
            [.sender, .participant]
        // These concern objects that the former participant keeps.
        case .conversationDeleted, .formerMessageDeleted: [.sender, .participant, .former]
        case .conversationHidden, .conversationShown, .messageHidden, .messagesHidden, .followed, .unfollowed, .blocked,
            .announcementStatus,
            .announcementDeleted:
            [.participant]
        case .typing: [.sender]
        // Users who have shared a conversation follow each other until they decide otherwise.
        case .identityChanged, .presence: [.sender, .participant, .former]
        }
    }

    func expected(_ who: Who) -> String {
        guard who.isSignedIn else { return "no socket: \(who.refusal)" }
        return recipients.contains(who) ? "told" : "not told"
    }

    // The switches in the next two initializers make the compiler demand a row for every kind of publication.

    init(_ content: Change.Content) {
        switch content {
        case .conversationCreated: self = .conversationCreated
        case .participantsChanged: self = .participantsChanged
        case .metadataChanged: self = .metadataChanged
        case .conversationDeleted: self = .conversationDeleted
        case .messageCreated: self = .messageCreated
        case .messageDeleted: self = .messageDeleted
        case .receipts: self = .receipts
        case .allRead: self = .allRead
        case .partsChanged: self = .partsChanged
        }
    }

    /// Returns nil if the change is not announced to clients.
    init?(_ content: UserChange.Content) {
        switch content {
        case .conversationHidden: self = .conversationHidden
        case .conversationShown: self = .conversationShown
        case .messageHidden: self = .messageHidden
        case .messagesHidden: self = .messagesHidden
        case .messageDeleted: self = .formerMessageDeleted
        case .conversationDeleted: self = .conversationDeleted
        case .identityChanged: self = .identityChanged
        case .followed: self = .followed
        case .unfollowed: self = .unfollowed
        case .announced: self = .announced
        case .announcementStatus: self = .announcementStatus
        case .announcementDeleted: self = .announcementDeleted
        case .blocksChanged: self = .blocked
        // A block is not announced even to the blocked user.
        case .blockedBy, .obsolete: return nil
        }
    }
}
