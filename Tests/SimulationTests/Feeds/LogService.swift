// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

@testable import FanOut
@testable import Gateway
@testable import Sync

/// The conversations service and its database from the gateways' point of view: logs with dense positions, read like
/// the SQL functions in Shared/Schema/Functions/sync.sql.
final class LogService {
    struct Conversation {
        var log: [Change] = []
        /// The participants after each change, as a bit set of users.
        var members: [UInt64] = []
        var firstJoined: [Position?]
        var leftAt: [Position?]
        var messages: Int64 = 0
        /// The deleted messages: one element per message ever sent.
        var isDeleted: [Bool] = []
        /// The users from whom a block hides each message, as a bit set.
        var hiddenFrom: [UInt64] = []
        /// The messages that do not count as unread, by user and message.
        var isExcluded: [[Bool]]
        var userCounts: [UserCounts]
        /// The counts that each user must see after each change.
        var counts: [[Counts]] = []
        /// The counts that a user would have seen after a change, before they deleted the conversation from their
        /// devices.
        var formerCounts: [Position: [Int: [Counts]]] = [:]
        var deletions: [Deletion]
        var current: UInt64 { members.last ?? 0 }
    }

    /// A user's deletion of a conversation from their devices.
    struct Deletion {
        /// The entry of the user's own log for the deletion.
        var entry = Position.zero
        /// The position up to which changes are hidden from the user.
        var upTo = Position.zero
        var ordinal: Int64 = 0
        /// True until the conversation is restored.
        var isWhole = false
        /// The time at which the conversation was restored, and its head at that time.
        var returnedAt = Timestamp(0)
        var returnedWith = Position.zero
    }

    /// The values of `unread_message_count` and `total_message_count`.
    struct Counts: Equatable {
        var unread: Int64?
        var total: Int64?
    }

    static let app = AppID(rawValue: UUID(uuid: (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)))
    /// A user who is in no conversation, and meaningless counts.
    static let nobody = UserID(trusted: "nobody")
    static let noCounts = UserCounts(excluded: 0, hidden: 0, position: .zero)
    /// The margins of the database: how far before the requested time heads are searched, and how far back at most.
    private static let headsMargin: Int64 = 30_000_000
    private static let headsWindow: Int64 = 120_000_000
    private static let headsLifetime: Int64 = 500_000

    private let simulation: Simulation
    private let limit: Int
    private let blockShare: Int
    private(set) var conversations: [Conversation]
    private(set) var own: [[UserChange]]
    private var additions: [(time: Int64, user: Int, conversation: Int, position: Position)] = []
    private var cachedHeads: (readAt: Int64, since: Int64, heads: Heads)?
    let ids: [ConversationID]
    let userIDs: [UserID]
    let keys: [UserKey]

    init(_ simulation: Simulation, _ scenario: FeedScenario) {
        self.simulation = simulation
        limit = scenario.pageSize
        blockShare = scenario.blockShare
        ids = (0..<scenario.conversations)
            .map { ConversationID(rawValue: UUID(uuid: (UInt8($0), 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2))) }
        userIDs = (0..<scenario.users).map { UserID(trusted: "u\($0)") }
        keys = userIDs.map { UserKey(app: Self.app, user: $0) }
        let nobody = [Position?](repeating: nil, count: scenario.users)
        conversations = Array(
            repeating: Conversation(
                firstJoined: nobody, leftAt: nobody, isExcluded: Array(repeating: [], count: scenario.users),
                userCounts: Array(repeating: Self.noCounts, count: scenario.users),
                deletions: Array(repeating: Deletion(), count: scenario.users)), count: scenario.conversations)
        own = Array(repeating: [], count: scenario.users)
    }

    func index(of id: ConversationID) -> Int { Int(id.rawValue.uuid.0) }
    func index(of user: UserID) -> Int { Int(user.rawValue.utf8.last ?? 48) - 48 }
    func head(of conversation: Int) -> Position { Position(Int64(conversations[conversation].log.count)) }

    /// Returns true if `user` receives the change at `position`, because they are a participant before or after it.
    func isVisible(_ position: Position, of conversation: Int, to user: Int) -> Bool {
        let index = Int(position.rawValue) - 1
        let members = conversations[conversation].members
        return (members[index] | (index > 0 ? members[index - 1] : 0)) & (1 << UInt64(user)) != 0
    }

    /// Returns true if a block hides the message of the change at `position` from `user`.
    func isHidden(_ position: Position, of conversation: Int, from user: Int) -> Bool {
        conversations[conversation].log[Int(position.rawValue) - 1].hiddenFrom.contains(userIDs[user])
    }

    // MARK: Commits

    /// The maximum time between a change's timestamp and its commit.
    static let longestCommit: Int64 = 3_000_000

    /// Returns the timestamp of a change: shortly before its commit, and never before the previous change.
    private func stamp(after last: Timestamp?) -> Timestamp {
        let early = simulation.chance(5) ? simulation.span(0...Self.longestCommit) : simulation.span(0...20_000)
        return max(Timestamp(simulation.now - early), last ?? Timestamp(0))
    }

    /// - Parameter altered: the users whose counts change. The publication contains the new counts; the log does not.
    /// - Parameter actor: nil: the app's own server.
    private func append(
        _ content: Change.Content, by actor: Int?, to index: Int, members: UInt64, altering altered: [Int] = [],
        hiddenFrom: UInt64 = 0
    ) -> Change {
        var change = Change(
            appID: Self.app, conversationID: ids[index], position: head(of: index).next,
            createdAt: stamp(after: conversations[index].log.last?.createdAt),
            actor: actor.map { userIDs[$0] }, origin: nil, messageCount: conversations[index].messages, counts: [:],
            content: content,
            hiddenFrom: users(hiddenFrom).map { userIDs[$0] })
        conversations[index].log.append(change)
        simulation.note(.init(what: "committed in conversation", a: index, b: actor ?? -1, c: change.position.rawValue))
        conversations[index].members.append(members)
        noteCounts(of: index, members)
        for user in altered {
            conversations[index].userCounts[user].position = change.position
            change.counts[userIDs[user]] = conversations[index].userCounts[user]
        }
        return change
    }

    private func users(_ bits: UInt64) -> [Int] { userIDs.indices.filter { bits & (1 << UInt64($0)) != 0 } }

    private func noteCounts(of index: Int, _ members: UInt64) {
        let conversation = conversations[index]
        conversations[index].counts
            .append(
                userIDs.indices.map { user in
                    // A user who has left keeps their last counts.
                    if members & (1 << UInt64(user)) == 0, conversation.leftAt[user] != head(of: index) {
                        return conversation.counts.last?[user] ?? Counts(unread: 0, total: 0)
                    }
                    let numbers = conversation.userCounts[user]
                    return Counts(
                        unread: numbers.unread(of: conversation.messages),
                        total: numbers.total(of: conversation.messages))
                })
    }

    /// Returns the counts that `user` must see after the change at `position`.
    func counts(of index: Int, at position: Position, for user: Int) -> Counts {
        conversations[index].counts[Int(position.rawValue) - 1][user]
    }

    /// Returns outdated counts that `user` may still receive, because they were once correct.
    func formerCounts(of index: Int, at position: Position, for user: Int) -> [Counts] {
        conversations[index].formerCounts[position]?[user] ?? []
    }

    /// Returns the first position, from `position` on, after which `user` was to see these counts. An entry that is
    /// read late contains the conversation's state at the time of the read.
    func position(of counts: Counts, in index: Int, since position: Position, for user: Int) -> Position {
        let candidates = (position.rawValue...head(of: index).rawValue).map { Position($0) }
        return candidates.first { self.counts(of: index, at: $0, for: user) == counts } ?? position
    }

    private func messages(of index: Int, at position: Position) -> Int64 {
        position == .zero ? 0 : conversations[index].log[Int(position.rawValue) - 1].messageCount
    }

    func create(_ index: Int, members: UInt64) -> Change {
        for user in userIDs.indices where members & (1 << UInt64(user)) != 0 {
            conversations[index].firstJoined[user] = Position(1)
            additions.append((simulation.now, user, index, Position(1)))
        }
        return append(.conversationCreated(nil), by: 0, to: index, members: members)
    }

    /// Sends, deletes or reads a message, or changes metadata.
    /// - Returns: nil if the user can do nothing.
    func act(_ user: Int, in index: Int) -> Change? {
        let bit = UInt64(1) << UInt64(user)
        guard conversations[index].current & bit != 0 else { return nil }
        switch simulation.int(0...99) {
        case 0..<60: return send(user, to: index)
        case 60..<70: return delete(by: user, in: index)
        case 70..<90: return read(user, in: index)
        default: return readAll(user, in: index)
        }
    }

    private func messageID(_ index: Int, _ ordinal: Int64) -> MessageID {
        MessageID(
            rawValue: UUID(
                uuid: (
                    UInt8(index), 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, UInt8(ordinal >> 16 & 255),
                    UInt8(ordinal >> 8 & 255), UInt8(ordinal & 255)
                ))
        )
    }

    private func exclude(_ ordinal: Int64, for user: Int, in index: Int) -> Bool {
        guard !conversations[index].isExcluded[user][Int(ordinal) - 1] else { return false }
        conversations[index].isExcluded[user][Int(ordinal) - 1] = true
        conversations[index].userCounts[user].excluded += 1
        return true
    }

    private func delete(by actor: Int, in index: Int) -> Change? {
        let shown = conversations[index].isDeleted.indices
            .last {
                !conversations[index].isDeleted[$0] && conversations[index].hiddenFrom[$0] & (1 << UInt64(actor)) == 0
            }
        guard let found = shown else { return nil }
        let (ordinal, members, hiddenFrom) = (
            Int64(found + 1), conversations[index].current, conversations[index].hiddenFrom[found]
        )
        conversations[index].isDeleted[found] = true
        // For a user from whom a message is hidden, it has counted as deleted from the beginning.
        let altered = users(members & ~hiddenFrom)
        for user in altered where ordinal > conversations[index].deletions[user].ordinal {
            conversations[index].userCounts[user].hidden += 1
            _ = exclude(ordinal, for: user, in: index)
        }
        return append(
            .messageDeleted(
                id: messageID(index, ordinal), ordinal: ordinal,
                lastMessage: Change.LastMessage(changed: false, message: nil)),
            by: actor, to: index, members: members, altering: altered, hiddenFrom: hiddenFrom)
    }

    private func read(_ user: Int, in index: Int) -> Change? {
        guard let found = conversations[index].isExcluded[user].lastIndex(of: false) else { return nil }
        let ordinal = Int64(found + 1)
        _ = exclude(ordinal, for: user, in: index)
        let receipt = Change.Receipt(
            user: userIDs[user], messageID: messageID(index, ordinal), ordinal: ordinal, status: .read,
            sender: userIDs[0])
        return append(
            .receipts([receipt]), by: user, to: index, members: conversations[index].current, altering: [user])
    }

    private func readAll(_ user: Int, in index: Int) -> Change? {
        guard conversations[index].isExcluded[user].contains(false) else { return nil }
        for ordinal in 1...conversations[index].messages { _ = exclude(ordinal, for: user, in: index) }
        return append(
            .allRead(user: userIDs[user], upTo: head(of: index), audience: nil), by: user, to: index,
            members: conversations[index].current,
            altering: [user])
    }

    func send(_ actor: Int, to index: Int) -> Change {
        let members = conversations[index].current
        guard simulation.chance(800) else {
            let isServer = head(of: index).rawValue % 3 == 0
            return append(.metadataChanged([]), by: isServer ? nil : actor, to: index, members: members)
        }
        conversations[index].messages += 1
        let ordinal = conversations[index].messages
        // Some messages are sent by the app's own server under a display name: they count as unread for all users, and
        // no block hides them.
        let isNamed = ordinal % 5 == 0
        let hiddenFrom = isNamed ? 0 : hiddenUsers(from: actor, among: members)
        conversations[index].isDeleted.append(false)
        conversations[index].hiddenFrom.append(hiddenFrom)
        for user in userIDs.indices {
            conversations[index].isExcluded[user].append(false)
        }
        let altered = isNamed ? [] : [actor] + users(hiddenFrom)
        for user in altered { _ = exclude(ordinal, for: user, in: index) }
        for user in users(hiddenFrom) { conversations[index].userCounts[user].hidden += 1 }
        let id = messageID(index, ordinal)
        let message = Message(
            id: id, conversationID: ids[index], position: head(of: index).next, ordinal: ordinal,
            sender: isNamed ? .name("Server") : .user(BasicIdentity(userID: userIDs[actor])),
            sentAt: Timestamp(simulation.now), parts: [],
            recipients: [])
        let change = append(
            .messageCreated(id: id, ordinal: ordinal, message), by: isNamed ? nil : actor, to: index, members: members,
            altering: altered,
            hiddenFrom: hiddenFrom)
        for user in users(members & ~hiddenFrom) { returned(index, to: user, at: change.createdAt) }
        return change
    }

    /// Returns the users from whom a block hides a message: some of the other participants.
    private func hiddenUsers(from actor: Int, among members: UInt64) -> UInt64 {
        guard blockShare > 0, simulation.chance(blockShare) else { return 0 }
        return members & ~(1 << UInt64(actor)) & UInt64(simulation.int(0...(1 << userIDs.count) - 1))
    }

    /// Restores a conversation for a user who had deleted it from their devices.
    private func returned(_ index: Int, to user: Int, at time: Timestamp) {
        guard conversations[index].deletions[user].isWhole else { return }
        conversations[index].deletions[user].isWhole = false
        conversations[index].deletions[user].returnedAt = time
        conversations[index].deletions[user].returnedWith = head(of: index)
    }

    /// Returns the time from which `user` must receive a change. For changes during a deletion it is the time of the
    /// restore.
    func requiredSince(_ change: Change, of index: Int, by user: Int) -> Timestamp {
        let deletion = conversations[index].deletions[user]
        return change.position <= deletion.returnedWith ? max(change.createdAt, deletion.returnedAt) : change.createdAt
    }

    /// Adds `user` to the conversation, or removes them if they are a participant.
    func change(membershipOf user: Int, in index: Int, by actor: Int) -> Change {
        let bit = UInt64(1) << UInt64(user)
        let isAdded = conversations[index].current & bit == 0
        let position = head(of: index).next
        if isAdded {
            conversations[index].firstJoined[user] = conversations[index].firstJoined[user] ?? position
            conversations[index].leftAt[user] = nil
            // All earlier messages count as read.
            conversations[index].isExcluded[user] = conversations[index].isExcluded[user].map { _ in true }
            let ordinal = Int(conversations[index].deletions[user].ordinal)
            let later = conversations[index].isDeleted.indices.dropFirst(ordinal)
            let hidden =
                ordinal
                + later.count { conversations[index].isDeleted[$0] || conversations[index].hiddenFrom[$0] & bit != 0 }
            conversations[index].userCounts[user] = UserCounts(
                excluded: conversations[index].messages, hidden: Int64(hidden), position: position)
            additions.append((simulation.now, user, index, position))
        } else {
            conversations[index].leftAt[user] = position
        }
        let change = append(
            .participantsChanged(
                added: isAdded ? [BasicIdentity(userID: userIDs[user])] : [], removed: isAdded ? [] : [userIDs[user]],
                distinctCleared: false,
                conversation: nil), by: actor, to: index, members: conversations[index].current ^ bit)
        if isAdded { returned(index, to: user, at: change.createdAt) }
        return change
    }

    func addOwnEntry(of user: Int) -> UserChange {
        append(.announcementDeleted(AnnouncementID(rawValue: LogService.app.rawValue)), toLogOf: user)
    }

    private func append(_ content: UserChange.Content, toLogOf user: Int) -> UserChange {
        let change = UserChange(
            appID: Self.app, user: userIDs[user], position: Position(Int64(own[user].count + 1)),
            createdAt: stamp(after: own[user].last?.createdAt),
            content: content)
        own[user].append(change)
        simulation.note(.init(what: "entry of own log", a: user, c: change.position.rawValue))
        return change
    }

    // MARK: Deletions from a user's devices

    /// Returns true if the conversation is on the list of a current or former participant.
    func isListed(_ index: Int, for user: Int) -> Bool {
        conversations[index].firstJoined[user] != nil && !conversations[index].deletions[user].isWhole
    }

    /// Deletes the conversation from a participant's devices, or restores it if it was deleted.
    func hideOrShow(_ index: Int, for user: Int) -> UserChange? {
        guard conversations[index].current & (1 << UInt64(user)) != 0 else { return nil }
        let (position, messages) = (head(of: index), conversations[index].messages)
        simulation.note(
            .init(
                what: conversations[index].deletions[user].isWhole
                    ? "user brings back conversation" : "user hides conversation", a: user, b: index)
        )
        if conversations[index].deletions[user].isWhole {
            conversations[index].deletions[user].isWhole = false
            let entry = append(.conversationShown(view(of: index, for: user)), toLogOf: user)
            conversations[index].deletions[user].isWhole = true
            returned(index, to: user, at: entry.createdAt)
            return entry
        }
        let former = conversations[index].counts[Int(position.rawValue) - 1][user]
        conversations[index].formerCounts[position, default: [:]][user, default: []].append(former)
        conversations[index].counts[Int(position.rawValue) - 1][user] = Counts(unread: 0, total: 0)
        let entry = Position(Int64(own[user].count + 1))
        conversations[index].deletions[user] = Deletion(entry: entry, upTo: position, ordinal: messages, isWhole: true)
        conversations[index].isExcluded[user] = conversations[index].isExcluded[user].map { _ in true }
        conversations[index].userCounts[user] = UserCounts(excluded: messages, hidden: messages, position: position)
        return append(.conversationHidden(ids[index], upTo: position, wholly: true), toLogOf: user)
    }

    /// Returns true if the log contains packets about a change for the user.
    func isTold(_ change: Change, of index: Int, to user: Int) -> Bool {
        guard isVisible(change.position, of: index, to: user) else { return false }
        if change.hiddenFrom.contains(userIDs[user]) { return false }
        let deletion = conversations[index].deletions[user]
        switch change.content {
        case .conversationCreated, .participantsChanged, .metadataChanged: return true
        case .messageDeleted(_, let ordinal, _): return change.position > deletion.upTo && ordinal > deletion.ordinal
        default: return change.position > deletion.upTo
        }
    }

    /// Returns an entry of a user's own log in its current state.
    private func read(_ change: UserChange, of user: Int) -> UserChange {
        var change = change
        switch change.content {
        case .conversationHidden(let id, let upTo, _):
            change.content = .conversationHidden(id, upTo: upTo, wholly: !isListed(self.index(of: id), for: user))
        case .conversationShown(let former?):
            change.content = .conversationShown(view(of: self.index(of: former.conversation.id), for: user))
        default: break
        }
        return change
    }

    // MARK: Reads

    /// Returns the last position of a conversation that a user may see; nil if the user never was a participant.
    private func end(of conversation: Int, for user: Int) -> Position? {
        guard conversations[conversation].firstJoined[user] != nil else { return nil }
        return conversations[conversation].leftAt[user] ?? head(of: conversation)
    }

    private func userCounts(of user: Int, in index: Int, at position: Position) -> UserCounts {
        var numbers = conversations[index].userCounts[user]
        numbers.position = position
        return numbers
    }

    /// Returns the conversations on the user's list.
    func listed(of user: Int) -> [ConversationID] {
        conversations.indices.filter { isListed($0, for: user) }.map { ids[$0] }
    }

    /// Returns the baseline like the statement `sync.recent_baseline` (Services/Conversations).
    func baseline(of user: Int, recent: Duration, notBefore begin: Timestamp) -> Baseline {
        let now = Timestamp(simulation.now)
        let since = now.advanced(by: .zero - recent)
        return baseline(of: user, since: begin <= now ? max(begin, since) : since)
    }

    func baseline(of user: Int, since: Timestamp) -> Baseline {
        var entries: [BaselineEntry] = []
        for index in conversations.indices {
            guard let end = end(of: index, for: user), let first = conversations[index].firstJoined[user] else {
                continue
            }
            let log = conversations[index].log
            let begin = max(firstIndex(in: log, since: since), Int(first.rawValue) - 1)
            let after = begin < Int(end.rawValue) ? Position(Int64(begin)) : end
            guard conversations[index].leftAt[user] == nil || isListed(index, for: user) || after < end else {
                continue
            }
            entries.append(
                BaselineEntry(
                    id: ids[index], position: end, after: after, counts: userCounts(of: user, in: index, at: end),
                    messageCount: messages(of: index, at: end),
                    isParticipant: conversations[index].leftAt[user] == nil,
                    oldestAt: after < end ? log[begin].createdAt : nil))
        }
        let ownEnd = Position(Int64(own[user].count))
        let ownAfter = own[user].firstIndex { $0.createdAt >= since }.map { Position(Int64($0)) } ?? ownEnd
        return Baseline(
            entries: entries, userPosition: ownEnd, userAfter: ownAfter, asOf: Timestamp(simulation.now),
            isComplete: true)
    }

    private func firstIndex(in log: [Change], since: Timestamp) -> Int {
        var (low, high) = (0, log.count)
        while low < high {
            let middle = (low + high) / 2
            if log[middle].createdAt < since { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// - Parameter cursors: sorted by conversation.
    func readLogs(of user: Int, _ cursors: [(conversation: Int, after: Position)], userAfter: Position?) -> LogPage {
        var found: [(time: Timestamp, log: Int, entry: LogPage.Entry)] = []
        var numbers: [ConversationID: LogPage.Counts] = [:]
        for (index, after) in cursors {
            guard let end = end(of: index, for: user), let first = conversations[index].firstJoined[user] else {
                continue
            }
            let begin = max(Int(after.rawValue), Int(first.rawValue) - 1)
            for place in begin..<max(begin, min(Int(end.rawValue), begin + limit + 1)) {
                let change = conversations[index].log[place]
                let isTold = isTold(change, of: index, to: user)
                found.append(
                    (change.createdAt, index, isTold ? .change(change) : .skipped(ids[index], change.position)))
            }
            numbers[ids[index]] = LogPage.Counts(
                counts: self.userCounts(of: user, in: index, at: end), messageCount: messages(of: index, at: end),
                isParticipant: conversations[index].leftAt[user] == nil, isListed: isListed(index, for: user))
        }
        if let userAfter {
            let begin = Int(userAfter.rawValue)
            for place in begin..<max(begin, min(own[user].count, begin + limit + 1)) {
                found.append((own[user][place].createdAt, Int.max, .userChange(read(own[user][place], of: user))))
            }
        }
        // The entries of one log are already in order, and their times never decrease: the index breaks ties.
        let ordered = found.enumerated()
            .sorted { ($0.element.time, $0.element.log, $0.offset) < ($1.element.time, $1.element.log, $1.offset) }
        return LogPage(
            entries: ordered.prefix(limit).map(\.element.entry), reachesHeads: found.count <= limit, counts: numbers)
    }

    /// - Parameter users: the users whose counts are requested as well; only those of participants are returned.
    func changes(of index: Int, after position: Position, users: [Int]) -> ChangePage {
        let log = conversations[index].log
        let begin = min(Int(position.rawValue), log.count)
        var numbers: [UserID: UserCounts] = [:]
        for user in users where conversations[index].current & (1 << UInt64(user)) != 0 {
            numbers[userIDs[user]] = self.userCounts(of: user, in: index, at: head(of: index))
        }
        return ChangePage(
            changes: Array(log[begin..<min(log.count, begin + limit)]), head: head(of: index), counts: numbers)
    }

    func userChanges(of user: Int, after position: Position) -> [UserChange] {
        let begin = min(Int(position.rawValue), own[user].count)
        return own[user][begin..<min(own[user].count, begin + limit)].map { read($0, of: user) }
    }

    func view(of index: Int, for user: Int) -> ConversationView? {
        guard let end = end(of: index, for: user), isListed(index, for: user) else { return nil }
        return ConversationView(
            conversation: StrataModel.Conversation(
                id: ids[index], createdAt: Timestamp(0), isDistinct: false, participants: [],
                metadata: MetadataTree(), position: end),
            isParticipant: conversations[index].leftAt[user] == nil, lastMessage: nil,
            counts: userCounts(of: user, in: index, at: end),
            messageCount: messages(of: index, at: end))
    }

    func heads(since: Timestamp?) -> Heads {
        let wanted = since.map { min(max($0.microseconds, simulation.now - Self.headsWindow), simulation.now) } ?? 0
        if let cached = cachedHeads, simulation.now - cached.readAt < Self.headsLifetime,
            cached.since == wanted || (cached.since != 0 && cached.since <= wanted)
        {
            return cached.heads
        }
        let since = Timestamp((wanted == 0 ? simulation.now : wanted) - Self.headsMargin)
        let moved = conversations.indices.filter { conversations[$0].log.last.map { $0.createdAt >= since } ?? false }
        var added: [Heads.Addition] = []
        for addition in additions.reversed() {
            guard conversations[addition.conversation].log[Int(addition.position.rawValue) - 1].createdAt >= since
            else { continue }
            added.append(
                Heads.Addition(
                    user: keys[addition.user], conversation: ids[addition.conversation], position: addition.position))
        }
        let users = own.indices.filter { own[$0].last.map { $0.createdAt >= since } ?? false }
        let heads = Heads(
            conversations: moved.map { (ids[$0], head(of: $0)) }, added: added.reversed(),
            users: users.map { (keys[$0], Position(Int64(own[$0].count))) }, asOf: Timestamp(simulation.now))
        cachedHeads = (simulation.now, wanted, heads)
        return heads
    }
}
