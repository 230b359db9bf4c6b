// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A reference model of one conversation as each of its users sees it. It uses plain lists and sets, and shares no
/// arithmetic with the code under test.
struct ConversationModel {
    struct Sent {
        let id: MessageID
        let position: Position
        let sender: String
        var isDeleted = false
    }

    struct User {
        var isParticipant = true
        /// The number of messages when the user left.
        var leftAt = 0
        var leftPosition = Position.zero
        var hidden: Set<Int> = []
        var statuses: [Int: RecipientStatus] = [:]
        /// True if the user deleted the conversation from their devices, and nothing has permanently shown it again.
        var isHidden = false
        /// The positions up to which the user last deleted the conversation, and at which the user last joined.
        var hiddenUpTo = Position.zero
        var joined = Position(1)
        /// Each message's recipients and their statuses at the time the user left.
        var kept: [[Message.Recipient]] = []
    }

    enum Operation {
        case send(MessageID)
        case receipt(ReceiptKind, message: Int)
        case markAllRead(upTo: Position?)
        case deleteMessage(Int, DeletionMode)
        case deleteConversation(leave: Bool, upTo: Position?)
        case add(String)
        case remove(String)
    }

    /// The result of an operation. `change` and `own` are true if the conversation, or the user's own log, takes a
    /// position.
    enum Outcome: Equatable {
        case done(change: Bool, own: Bool)
        case refused(Failure.Code)
    }

    private(set) var messages: [Sent] = []
    private(set) var users: [String: User]
    private(set) var head = Position(1)

    init(users: [String]) { self.users = Dictionary(uniqueKeysWithValues: users.map { ($0, User()) }) }

    var participants: [String] { users.filter(\.value.isParticipant).keys.sorted() }

    /// Returns the indices of the messages this user sees, oldest first.
    func seen(by name: String) -> [Int] {
        guard let user = users[name] else { return [] }
        return messages.indices.filter {
            !messages[$0].isDeleted && !user.hidden.contains($0) && (user.isParticipant || $0 < user.leftAt)
        }
    }

    func unread(by name: String) -> [Int] {
        seen(by: name).filter { messages[$0].sender != name && (users[name]?.statuses[$0] ?? .sent) < .read }
    }

    func isVisible(to name: String) -> Bool { users[name].map { !$0.isHidden || !seen(by: name).isEmpty } ?? false }

    /// Returns a message's recipients with their statuses, as this user sees them. A former participant sees the
    /// statuses at the time of leaving.
    func recipients(of index: Int, seenBy name: String) -> [Message.Recipient] {
        guard let user = users[name], !user.isParticipant else { return recipients(of: index) }
        return user.kept[index]
    }

    private func recipients(of index: Int) -> [Message.Recipient] {
        users.filter { $0.value.isParticipant || $0.value.leftAt > index }.keys.sorted()
            .map { name in
                let status = name == messages[index].sender ? .read : users[name]?.statuses[index] ?? .sent
                return Message.Recipient(userID: UserID(trusted: name), status: status)
            }
    }

    mutating func apply(_ operation: Operation, by name: String) -> Outcome {
        guard let user = users[name] else { return .refused(.notFound) }
        switch operation {
        case .send(let id):
            guard user.isParticipant else { return .refused(.accessDenied) }
            head = head.next
            messages.append(Sent(id: id, position: head, sender: name))
            return .done(change: true, own: false)
        case .receipt(let kind, let index): return receipt(kind, index, by: name, user)
        case .markAllRead(let upTo): return markAllRead(upTo, by: name, user)
        case .deleteMessage(let index, let mode): return deleteMessage(index, mode, by: name, user)
        case .deleteConversation(let leave, let upTo):
            return deleteConversation(leave: leave, upTo: upTo, by: name, user)
        case .add(let other), .remove(let other):
            guard user.isParticipant else { return .refused(.accessDenied) }
            let adds = if case .add = operation { true } else { false }
            guard let before = users[other], before.isParticipant != adds else {
                return .done(change: false, own: false)
            }
            head = head.next
            if adds { readd(other) } else { leave(other) }
            return .done(change: true, own: false)
        }
    }

    private mutating func receipt(_ kind: ReceiptKind, _ index: Int, by name: String, _ user: User) -> Outcome {
        guard seen(by: name).contains(index) else { return .refused(.notFound) }
        guard user.isParticipant else { return .refused(.accessDenied) }
        let status: RecipientStatus = kind == .read ? .read : .delivered
        guard messages[index].sender != name, (user.statuses[index] ?? .sent) < status else {
            return .done(change: false, own: false)
        }
        users[name]?.statuses[index] = status
        head = head.next
        return .done(change: true, own: false)
    }

    private mutating func markAllRead(_ upTo: Position?, by name: String, _ user: User) -> Outcome {
        guard user.isParticipant else { return .refused(.accessDenied) }
        let limit = upTo ?? head
        guard unread(by: name).contains(where: { messages[$0].position <= limit }) else {
            return .done(change: false, own: false)
        }
        for index in messages.indices where messages[index].position <= limit { users[name]?.statuses[index] = .read }
        head = head.next
        return .done(change: true, own: false)
    }

    private mutating func deleteMessage(_ index: Int, _ mode: DeletionMode, by name: String, _ user: User) -> Outcome {
        guard seen(by: name).contains(index) else { return .refused(.notFound) }
        if mode == .myDevices {
            users[name]?.hidden.insert(index)
            users[name]?.isHidden = false
            return .done(change: false, own: true)
        }
        guard user.isParticipant else { return .refused(.accessDenied) }
        for other in users.keys where seen(by: other).contains(index) { users[other]?.isHidden = false }
        messages[index].isDeleted = true
        head = head.next
        return .done(change: true, own: false)
    }

    private mutating func deleteConversation(
        leave leaves: Bool, upTo: Position?, by name: String, _ user: User
    ) -> Outcome {
        let (leaves, isVisible) = (leaves && user.isParticipant, isVisible(to: name))
        guard leaves || isVisible else { return .refused(.notFound) }
        let end = user.isParticipant ? head : user.leftPosition
        let seen = seen(by: name)
        if leaves {
            head = head.next
            leave(name)
        }
        guard isVisible else { return .done(change: leaves, own: false) }
        if let upTo, upTo < end {
            let old = seen.filter { messages[$0].position <= upTo }
            if upTo <= user.hiddenUpTo { return .done(change: leaves, own: false) }
            if old.count < seen.count || upTo < user.joined {
                guard !old.isEmpty else { return .done(change: leaves, own: false) }
                users[name]?.hidden.formUnion(old)
                users[name]?.hiddenUpTo = upTo
                return .done(change: leaves, own: true)
            }
        }
        users[name]?.hidden.formUnion(0..<(user.isParticipant ? messages.count : user.leftAt))
        users[name]?.isHidden = true
        users[name]?.hiddenUpTo = user.isParticipant ? head : user.leftPosition
        return .done(change: leaves, own: true)
    }

    private mutating func leave(_ name: String) {
        users[name]?.isParticipant = false
        users[name]?.leftAt = messages.count
        users[name]?.leftPosition = head
        let kept = messages.indices.map { recipients(of: $0) }
        users[name]?.kept = kept
    }

    private mutating func readd(_ name: String) {
        users[name]?.isParticipant = true
        users[name]?.isHidden = false
        users[name]?.joined = head
        for index in messages.indices { users[name]?.statuses[index] = .read }
    }
}
