// SPDX-License-Identifier: Apache-2.0

/// A judge of webhook deliveries, by the promises of docs/server-api.md, Delivery. It is pure.
///
/// The hooks were active from before the creation of the conversations to the end. For each hook and conversation:
///
/// | Promise | Violation |
/// |---|---|
/// | Every change of the log that the hook takes arrives. | lost |
/// | An acknowledged read receipt arrives. | lost |
/// | Events arrive in the order of the log. Repetitions (same event id) may arrive later. | reordered |
/// | A repetition reports the same change and message; a conversation has its present state. | inconsistent |
/// | Nothing else arrives. | invented |
struct HookJudge {
    private let history: History
    private(set) var violations: [Violation] = []

    static func violations(of deliveries: [HookDelivery], to hooks: [TestHook], in history: History) -> [Violation] {
        var judge = HookJudge(history)
        let byHook = Dictionary(grouping: deliveries, by: \.hook)
        for hook in hooks {
            let firsts = judge.firstArrivals(byHook[hook.path] ?? [])
            for conversation in history.conversations {
                judge.check(firsts[conversation.id] ?? [], of: conversation, to: hook)
            }
        }
        return judge.violations
    }

    private init(_ history: History) { self.history = history }

    private mutating func found(_ kind: Violation.Kind, _ what: String) {
        violations.append(Violation(kind: kind, what: what))
    }

    /// Removes repetitions.
    /// - Returns: The first deliveries of each conversation's events, in order.
    private mutating func firstArrivals(_ deliveries: [HookDelivery]) -> [String: [HookDelivery.Content]] {
        var known: [String: HookDelivery] = [:]
        var firsts: [String: [HookDelivery.Content]] = [:]
        for delivery in deliveries {
            if let first = known.updateValue(delivery, forKey: delivery.id) {
                guard first.content != delivery.content || first.content.hasFixedBody && first.digest != delivery.digest
                else { continue }
                found(
                    .inconsistent,
                    "\(delivery.hook): \(delivery.content) came with two bodies under the id \(delivery.id)")
            } else {
                firsts[delivery.conversation, default: []].append(delivery.content)
            }
        }
        return firsts
    }

    private mutating func check(
        _ arrived: [HookDelivery.Content], of conversation: History.Conversation, to hook: TestHook
    ) {
        let name = "\(hook.path) of \(conversation.id)"
        let receipts = arrived.filter(\.isReceipt)
        let events = arrived.filter { !$0.isReceipt }
        let expected = conversation.log.flatMap(Self.contents).filter { hook.takes($0) }
        for content in Self.difference(expected, events) { found(.lost, "\(name): \(content) did not arrive") }
        for content in Self.difference(events, expected) { found(.invented, "\(name): \(content) arrived") }
        let (ordered, due) = (Self.common(events, expected), Self.common(expected, events))
        if let index = ordered.indices.first(where: { ordered[$0] != due[$0] }) {
            found(.reordered, "\(name): \(ordered[index]) arrived where \(due[index]) was due, as number \(index)")
        }
        guard hook.takesReceipts else { return }
        checkOrder(of: arrived, conversation, name)
        checkReads(receipts, of: conversation, name)
    }

    /// Returns the events of a change, in order.
    private static func contents(of change: History.Conversation.Change) -> [HookDelivery.Content] {
        switch change.kind {
        case .created: [.conversationCreated]
        case .deleted: [.conversationDeleted]
        case .metadata(let effects): [.metadata(effects.map { HookDelivery.operation($0.path, $0.value) })]
        case .participants(let added, let removed):
            (added.isEmpty ? [] : [.added(added.sorted())]) + (removed.isEmpty ? [] : [.removed(removed.sorted())])
        case .message(let id): [.message(id: id)]
        case .messageDeleted(let id): [.messageDeleted(id: id)]
        case .receipts: []
        }
    }

    /// Checks that receipts arrive after their messages.
    private mutating func checkOrder(
        of arrived: [HookDelivery.Content], _ conversation: History.Conversation, _ name: String
    ) {
        var positions: [String: Int] = [:]
        for change in conversation.log {
            if case .message(let id) = change.kind { positions[id] = change.position }
        }
        var last = 0
        for content in arrived {
            if case .message(let id) = content { last = max(last, positions[id] ?? 0) }
            if case .receipts(_, _, _, let to) = content, to > last {
                found(.reordered, "\(name): \(content) arrived before the message at \(to)")
            }
        }
    }

    /// Checks that a receipt arrived for each acknowledged read. The check covers users who were participants from the
    /// message to the end. Messages from before a user was added count as read without a receipt.
    private mutating func checkReads(
        _ receipts: [HookDelivery.Content], of conversation: History.Conversation, _ name: String
    ) {
        var positions: [String: Int] = [:]
        for change in conversation.log {
            if case .message(let id) = change.kind { positions[id] = change.position }
        }
        var runs: [String: [ClosedRange<Int>]] = [:]
        for case .receipts(let user, true, let from, let to) in receipts where from <= to {
            runs[user, default: []].append(from...to)
        }
        let messages = Dictionary(conversation.messages.map { ($0.id, $0) }) { $1 }
        var participations: [String: Participation] = [:]
        for operation in history.operations where operation.conversation == conversation.id {
            guard case .read(let message) = operation.action, case .acknowledged = operation.outcome,
                let position = positions[message],
                let known = messages[message], known.sender != operation.actor,
                known.recipients.contains(operation.actor)
            else { continue }
            let participation =
                participations[operation.actor] ?? Participation(of: operation.actor, in: conversation.log)
            participations[operation.actor] = participation
            guard participation.isThere(since: position) else { continue }
            if runs[operation.actor]?.contains(where: { $0.contains(position) }) != true {
                found(.lost, "\(name): no receipt tells that \(operation.actor) has read \(message) at \(position)")
            }
        }
    }

    /// Returns the elements of `one` that `other` lacks, counting duplicates.
    private static func difference(
        _ one: [HookDelivery.Content], _ other: [HookDelivery.Content]
    ) -> [HookDelivery.Content] {
        var counts = other.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return one.filter { content in
            guard let count = counts[content], count > 0 else { return true }
            counts[content] = count - 1
            return false
        }
    }

    /// Returns the elements that both have, in the order of `one`, counting duplicates.
    private static func common(_ one: [HookDelivery.Content], _ other: [HookDelivery.Content]) -> [HookDelivery.Content]
    {
        var counts = other.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return one.filter { content in
            guard let count = counts[content], count > 0 else { return false }
            counts[content] = count - 1
            return true
        }
    }
}

extension HookDelivery.Content {
    fileprivate var isReceipt: Bool { if case .receipts = self { true } else { false } }
    fileprivate var hasFixedBody: Bool {
        switch self {
        case .message, .messageDeleted, .receipts: true
        case .conversationCreated, .conversationDeleted, .metadata, .added, .removed, .other: false
        }
    }
}
