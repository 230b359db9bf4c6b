// SPDX-License-Identifier: Apache-2.0

/// A judge of a history, by the promises of docs/architecture.md §3. It is pure: the same history always yields the
/// same violations.
struct Checker {
    let history: History
    /// The maximum age of a typing indicator without an update, in seconds: two typing timeouts of the server, and the
    /// delay of transport under faults.
    var typingLimit = 35.0

    private(set) var violations: [Violation] = []
    private let conversations: [String: History.Conversation]
    private let places: [String: Places]

    /// An index of a log that finds the changes of operations.
    private struct Places {
        var messages: [String: [Int]] = [:]
        /// The changes of metadata by value. No two operations write the same value.
        var values: [String: [(path: String, position: Int)]] = [:]

        init(_ log: [History.Conversation.Change]) {
            for change in log {
                switch change.kind {
                case .message(let id): messages[id, default: []].append(change.position)
                case .metadata(let effects):
                    for effect in effects {
                        if let value = effect.value {
                            values[value, default: []].append((effect.path, change.position))
                        }
                    }
                default: break
                }
            }
        }

        func positions(of action: History.Operation.Action) -> [Int] {
            switch action {
            case .send(let message): messages[message] ?? []
            case .set(let path, let value): (values[value] ?? []).filter { $0.path == path }.map(\.position)
            default: []
            }
        }
    }

    init(_ history: History, typingLimit: Double = 35) {
        self.history = history
        self.typingLimit = typingLimit
        conversations = Dictionary(history.conversations.map { ($0.id, $0) }) { $1 }
        places = conversations.mapValues { Places($0.log) }
    }

    static func violations(of history: History, typingLimit: Double = 35) -> [Violation] {
        var checker = Checker(history, typingLimit: typingLimit)
        for conversation in history.conversations {
            checker.checkLog(of: conversation)
            checker.checkState(of: conversation)
        }
        checker.checkOperations()
        checker.checkOrderOfOperations()
        checker.checkService()
        for view in history.views { checker.check(view) }
        checker.checkTyping()
        for fault in history.faults { checker.found(.protocolBroken, fault) }
        return checker.violations
    }

    mutating func found(_ kind: Violation.Kind, _ what: String) { violations.append(Violation(kind: kind, what: what)) }

    // MARK: The log

    private mutating func checkLog(of conversation: History.Conversation) {
        for (index, change) in conversation.log.enumerated() where change.position != index + 1 {
            found(
                change.position > index + 1 ? .gap : .duplicated,
                "\(conversation.id): position \(change.position) where \(index + 1) was due")
            return
        }
        var messages: Set<String> = []
        var values: Set<String> = []
        for change in conversation.log {
            switch change.kind {
            case .message(let id):
                if !messages.insert(id).inserted {
                    found(.duplicated, "\(conversation.id): message \(id) was made twice")
                }
            case .metadata(let effects):
                for case let value? in effects.map(\.value) where !values.insert(value).inserted {
                    found(.duplicated, "\(conversation.id): value \(value) was written twice")
                }
            default: break
            }
        }
    }

    /// Checks that lists and counts agree with the log.
    private mutating func checkState(of conversation: History.Conversation) {
        var (participants, metadata, messages): (Set<String>, [String: String], [String]) = ([], [:], [])
        // Messages from before a user was added, or added again, count as read.
        var mustHaveRead: [String: Set<String>] = [:]
        var isDeleted = false
        for change in conversation.log {
            switch change.kind {
            case .created(let users): participants = Set(users)
            case .participants(let added, let removed):
                participants = participants.union(added).subtracting(removed)
                if !added.isEmpty { for id in messages { mustHaveRead[id, default: []].formUnion(added) } }
            case .metadata(let effects): for effect in effects { Self.apply(effect, to: &metadata) }
            case .message(let id): messages.append(id)
            case .messageDeleted(let id): messages.removeAll { $0 == id }
            case .receipts: break
            case .deleted: isDeleted = true
            }
        }
        // A conversation without participants cannot be shown.
        if isDeleted || (participants.isEmpty && !conversation.log.isEmpty) { return }
        let id = conversation.id
        if conversation.log.isEmpty { found(.lost, "\(id): there is no such conversation") }
        if participants != conversation.participants {
            found(
                .inconsistent,
                "\(id): participants are \(conversation.participants.sorted()), by the log \(participants.sorted())")
        }
        if metadata != conversation.metadata {
            found(.inconsistent, "\(id): metadata is \(conversation.metadata), by the log \(metadata)")
        }
        let listed = conversation.messages.map(\.id)
        if Set(listed).count != listed.count { found(.duplicated, "\(id): a message is listed twice") }
        for lost in Set(messages).subtracting(listed) {
            found(.lost, "\(id): message \(lost) is in the log, but not listed")
        }
        for strange in Set(listed).subtracting(messages) {
            found(.invented, "\(id): message \(strange) is listed, but not in the log")
        }
        for message in conversation.messages {
            let unread = mustHaveRead[message.id, default: []].intersection(message.recipients)
                .subtracting(message.readers)
            for user in unread { found(.inconsistent, "\(id): \(user) came after \(message.id), and has not read it") }
        }
        for (user, count) in conversation.counts where count.reported != count.shown {
            found(.inconsistent, "\(id): unread for \(user) is \(count.reported), and \(count.shown) messages say so")
        }
        for (user, count) in conversation.unread {
            let recount = conversation.messages
                .filter { $0.sender != user && $0.recipients.contains(user) && !$0.readers.contains(user) }.count
            if count != recount { found(.inconsistent, "\(id): unread for \(user) is \(count), counted \(recount)") }
        }
    }

    private static func apply(_ effect: History.Conversation.Change.Effect, to tree: inout [String: String]) {
        tree = tree.filter { path, _ in
            path != effect.path && !path.hasPrefix(effect.path + ".")
                && !(effect.value != nil && effect.path.hasPrefix(path + "."))
        }
        if effect.path.isEmpty { tree = [:] }
        tree[effect.path] = effect.value
    }

    // MARK: Operations

    private mutating func checkOperations() {
        let listed = conversations.mapValues { Dictionary($0.messages.map { ($0.id, $0) }) { $1 } }
        for operation in history.operations {
            guard conversations[operation.conversation] != nil else { continue }
            let messages = listed[operation.conversation] ?? [:]
            let times = places[operation.conversation]?.positions(of: operation.action).count ?? 0
            var name: String { "\(operation.conversation): \(operation.action) by \(operation.actor)" }
            switch (operation.action, operation.outcome) {
            case (.send, .acknowledged), (.set, .acknowledged):
                if times == 0 { found(.lost, "\(name) was acknowledged") }
            case (.send, .refused), (.set, .refused):
                if times > 0 { found(.invented, "\(name) was refused") }
            case (.read(let message), .acknowledged):
                guard let read = messages[message], read.recipients.contains(operation.actor) else { continue }
                if !read.readers.contains(operation.actor) {
                    found(.lost, "\(operation.conversation): \(operation.actor) has read \(message)")
                }
            default: break
            }
        }
        checkThatAllWasAskedFor()
    }

    private mutating func checkThatAllWasAskedFor() {
        var (sent, written): (Set<String>, Set<String>) = ([], [])
        for operation in history.operations {
            switch operation.action {
            case .send(let message): sent.insert(message)
            case .set(_, let value): written.insert(value)
            default: break
            }
        }
        for conversation in history.conversations {
            for change in conversation.log {
                switch change.kind {
                case .message(let id) where !sent.contains(id):
                    found(.invented, "\(conversation.id): no client sent \(id)")
                case .metadata(let effects):
                    for case let value? in effects.map(\.value) where !written.contains(value) {
                        found(.invented, "\(conversation.id): no client wrote \(value)")
                    }
                default: break
                }
            }
        }
    }

    /// Checks that an operation has a smaller position if it was acknowledged before another one began. The last writer
    /// is then the last in the log.
    private mutating func checkOrderOfOperations() {
        for conversation in history.conversations {
            let placed = history.operations
                .filter { $0.conversation == conversation.id }
                .compactMap { operation in
                    places[conversation.id]?.positions(of: operation.action).first.map { (operation, $0) }
                }
                .sorted { $0.0.begun < $1.0.begun }
            let ended = placed.filter { if case .acknowledged = $0.0.outcome { true } else { false } }
                .sorted { $0.0.ended < $1.0.ended }
            var (next, latest): (Int, (operation: History.Operation, position: Int)?) = (0, nil)
            for (operation, position) in placed {
                while next < ended.count, ended[next].0.ended < operation.begun {
                    if ended[next].1 > latest?.position ?? 0 { latest = ended[next] }
                    next += 1
                }
                if let latest, latest.position > position {
                    found(
                        .reordered,
                        "\(conversation.id): \(operation.action) at \(position) began after \(latest.operation.action) at \(latest.position) was done"
                    )
                }
            }
        }
    }

    // MARK: Service

    /// The percentage of requests, except sent messages, that may remain without an answer or be answered with 503.
    /// Limits may be reached, and the machine may be slow.
    private static let allowance = 20

    /// Checks that every message succeeds in the end while nothing is broken, regardless of hostile users.
    private mutating func checkService() {
        guard history.isUndisturbed else { return }
        let asked = history.operations.filter { !$0.isCutShort }
        func isOpen(_ operation: History.Operation) -> Bool {
            if case .unknown = operation.outcome { true } else { false }
        }
        func isSend(_ operation: History.Operation) -> Bool { if case .send = operation.action { true } else { false } }
        for operation in asked where isSend(operation) && isOpen(operation) && !operation.isAnswered {
            found(.starved, "\(operation.conversation): \(operation.action) of \(operation.actor) was never answered")
        }
        let others = asked.filter { !isSend($0) }
        let unserved = others.filter(isOpen)
        if unserved.count * 100 > others.count * Self.allowance {
            found(
                .starved,
                "\(unserved.count) of \(others.count) requests of honest users were not served, the first one \(unserved[0].action)"
            )
        }
    }

    // MARK: Client views

    private mutating func check(_ view: History.View) {
        guard let conversation = conversations[view.conversation] else { return }
        let name = "\(view.user) in \(view.conversation)"
        var (seen, contained, listed): (Set<Int>, Int, Int) = ([], 0, 0)
        var (last, known): (Int, Set<String>) = (0, [])
        for event in view.events {
            switch event {
            case .restart: (last, known) = (0, [])
            case .removed: (last, known) = (0, [])
            case .shown(let position): contained = max(contained, position)
            case .listed(let position): listed = max(listed, position)
            case .received(let position, let what):
                if position < last { found(.reordered, "\(name): position \(position) after \(last)") }
                if !known.insert("\(position) \(what)").inserted {
                    found(.duplicated, "\(name): \(what) at \(position)")
                }
                last = max(last, position)
                seen.insert(position)
            }
        }
        for difference in view.differences(in: conversation) { found(.stale, "\(name): \(difference)") }
        let presence = Participation(of: view.user, in: conversation.log)
        let there = Set(conversation.messages.map(\.id))
        for position in seen.sorted() where !presence.mayKnow(position) {
            found(.leaked, "\(name): position \(position)")
        }
        for change in conversation.log where presence.mustKnow(change.position) && !seen.contains(change.position) {
            switch change.kind {
            case .message(let id):
                if there.contains(id), change.position > listed {
                    found(.lost, "\(name): message at \(change.position)")
                }
            case .created, .participants, .metadata:
                if change.position > contained { found(.lost, "\(name): \(change.kind) at \(change.position)") }
            case .messageDeleted, .deleted:
                if change.position > max(contained, listed) {
                    found(.lost, "\(name): \(change.kind) at \(change.position)")
                }
            case .receipts: break
            }
        }
    }

    // MARK: Typing

    private mutating func checkTyping() {
        let byPair = Dictionary(grouping: history.typing) { [$0.reader, $0.typist, $0.conversation] }
        let end = history.typing.map(\.seconds).max() ?? 0
        for (pair, signals) in byPair {
            let ordered = signals.sorted { $0.seconds < $1.seconds }
            for (index, signal) in ordered.enumerated() where signal.action != "finished" {
                let next = index + 1 < ordered.count ? ordered[index + 1].seconds : end
                if next - signal.seconds > typingLimit {
                    found(
                        .stuck,
                        "\(pair[0]): \(pair[1]) \(signal.action) for \(Int(next - signal.seconds)) s in \(pair[2])")
                }
            }
        }
    }
}

extension History.View {
    /// Describes the differences between the client and the server's final view for its user. Empty if the user never
    /// took part.
    func differences(in conversation: History.Conversation) -> [String] {
        if let shown = conversation.shown[user] {
            return mirror.differences(from: shown, for: user, in: conversation.log)
        }
        // Former participants keep their counts. Later deletions for all users are sent in their own logs, which the
        // history does not contain. A user who joined and left between two connections may know only the end.
        guard mirror.unread != nil, let kept = conversation.kept[user],
            let end = Participation(of: user, in: conversation.log).end,
            !conversation.log.contains(where: { $0.position > end && $0.isDeletion })
        else { return [] }
        return mirror.countDifferences(from: kept)
    }
}

/// The periods in which a user took part in a conversation, according to its log.
struct Participation {
    private var periods: [(from: Int, to: Int)] = []

    init(of user: String, in log: [History.Conversation.Change]) {
        var since: Int?
        for change in log {
            switch change.kind {
            case .created(let participants): if participants.contains(user) { since = change.position }
            case .participants(let added, let removed):
                if added.contains(user), since == nil { since = change.position }
                if removed.contains(user), let from = since {
                    periods.append((from, change.position))
                    since = nil
                }
            default: break
            }
        }
        if let since { periods.append((since, .max)) }
    }

    /// The position at which the user left for good; nil otherwise.
    var end: Int? { periods.last.flatMap { $0.to == .max ? nil : $0.to } }

    /// Returns true if the user was a participant. The removal itself still concerns the user.
    func mustKnow(_ position: Int) -> Bool { periods.contains { $0.from <= position && position <= $0.to } }

    /// Returns true if the user has been a participant from this position to the end.
    func isThere(since position: Int) -> Bool { periods.last.map { $0.from <= position && $0.to == .max } ?? false }

    /// Returns true if the user may see the position. A user who is added, even again, sees all earlier changes.
    func mayKnow(_ position: Int) -> Bool { periods.contains { position <= $0.to } }
}
