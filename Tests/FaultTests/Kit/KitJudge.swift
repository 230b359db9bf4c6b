// SPDX-License-Identifier: Apache-2.0

import KitClient

@testable import Soak

/// Judges the histories of the apps in a trial. ``Checker`` compares them with the change log, where a change accepted
/// by StrataKit counts as acknowledged. StrataKit's additional promises are judged here. Pure functions.
struct KitJudge {
    private let records: [KitRecord]
    private let failures: [KitFailure]
    private let conversations: [String: History.Conversation]
    private var violations: [Violation] = []

    /// Returns the violations of a trial.
    /// - Parameters:
    ///   - differences: the differences between stores and a fresh load.
    ///   - conversations: the final state of the server.
    static func violations(
        of story: KitStory, differences: [String], conversations: [History.Conversation]
    ) -> [Violation] {
        var judge = KitJudge(story, conversations)
        var history = History(operations: judge.operations, conversations: conversations)
        history.faults = story.faults
        judge.violations = Checker.violations(of: history) + differences.map { Violation(kind: .stale, what: $0) }
        judge.checkOrder()
        judge.checkLastValues()
        judge.checkGuests()
        judge.checkDeletions()
        return judge.violations
    }

    private init(_ story: KitStory, _ conversations: [History.Conversation]) {
        records = story.records
        failures = story.failures
        self.conversations = Dictionary(conversations.map { ($0.id, $0) }) { $1 }
    }

    private mutating func found(_ kind: Violation.Kind, _ what: String) {
        violations.append(Violation(kind: kind, what: what))
    }

    // MARK: Requested changes

    private var operations: [History.Operation] {
        let refused = Set(failures.filter { $0.operation == "sendMessage" }.flatMap(\.messages))
        let withdrawn = Set(records.filter(\.isDeletion).flatMap(\.objects))
        return records.flatMap { record -> [History.Operation] in
            guard let conversation = record.conversation else { return [] }
            func operation(
                _ action: History.Operation.Action, _ outcome: History.Operation.Outcome
            ) -> History.Operation {
                History.Operation(
                    actor: record.user, conversation: conversation, action: action, begun: 0, ended: .max,
                    outcome: outcome)
            }
            switch record.action {
            case .create, .send:
                guard let message = record.objects.last else { return [] }
                // A message that was deleted before it was sent is never sent.
                let outcome =
                    refused.contains(message) ? .refused : withdrawn.contains(message) ? .unknown : outcome(of: record)
                return [operation(.send(message: message), outcome)]
            case .set(_, let path, let value):
                return [operation(.set(path: path, value: value), outcome(of: record, at: path))]
            case .read: return record.objects.map { operation(.read(message: $0), outcome(of: record)) }
            default: return []
            }
        }
    }

    private func outcome(of record: KitRecord) -> History.Operation.Outcome {
        switch record.outcome {
        case .accepted: record.isUnreadable || hasFailed("createConversation", record) ? .unknown : .acknowledged
        case .thrown: .refused
        case .open: .unknown
        }
    }

    /// Returns the outcome of a metadata change. Unknown for paths that are written repeatedly, because an overwritten
    /// value may not be sent. Also unknown after a failure, which does not name the value.
    private func outcome(of record: KitRecord, at path: String) -> History.Operation.Outcome {
        guard record.outcome == .accepted else { return outcome(of: record) }
        return path.hasPrefix("\(KitPath.once).") && !hasFailed("setMetadata", record) ? outcome(of: record) : .unknown
    }

    private func hasFailed(_ operation: String, _ record: KitRecord) -> Bool {
        failures.contains {
            $0.device == record.device && $0.conversation == record.conversation && $0.operation == operation
        }
    }

    /// Returns the last of some changes if its effect must be visible: the change was accepted, and no failure concerns
    /// it.
    private func last(_ records: [KitRecord], _ operation: String) -> KitRecord? {
        guard let last = records.last(where: { $0.outcome != .thrown }), last.outcome == .accepted,
            !records.contains(where: \.isUnreadable),
            !hasFailed(operation, last), !hasFailed("createConversation", last)
        else { return nil }
        return last
    }

    private func groups(_ isWanted: (KitRecord) -> Bool) -> [(conversation: History.Conversation, records: [KitRecord])]
    {
        let byPlace = Dictionary(grouping: records.filter(isWanted)) { [$0.device, $0.conversation ?? ""] }
        return byPlace.sorted { $0.key.joined() < $1.key.joined() }
            .compactMap { key, records in conversations[key[1]].map { ($0, records.sorted { $0.number < $1.number }) } }
    }

    // MARK: Promises of StrataKit

    /// Checks that the messages of each device arrive in sending order.
    private mutating func checkOrder() {
        let sends = groups { record in
            switch record.action {
            case .create, .send: true
            default: false
            }
        }
        for (conversation, records) in sends {
            let places = Dictionary(
                conversation.log.compactMap { change in
                    if case .message(let id) = change.kind { (id, change.position) } else { nil }
                }
            ) { first, _ in first }
            let order = records.compactMap { record in record.objects.last.flatMap { places[$0] } }
            for (before, after) in zip(order, order.dropFirst()) where after < before {
                found(
                    .reordered,
                    "\(conversation.id): \(records[0].device) sent what is at \(after) after what is at \(before)")
            }
        }
    }

    private mutating func checkLastValues() {
        let sets = groups { record in
            if case .set(_, let path, _) = record.action { path == KitPath.last(of: record.device) } else { false }
        }
        for (conversation, records) in sets {
            guard let last = last(records, "setMetadata"), case .set(_, let path, let value) = last.action else {
                continue
            }
            if conversation.metadata[path] != value {
                found(
                    .lost,
                    "\(conversation.id): \(path) is \(conversation.metadata[path] ?? "nothing"), and was last set to \(value)"
                )
            }
        }
    }

    private mutating func checkGuests() {
        let changes = groups { record in
            switch record.action {
            case .add, .remove: true
            default: false
            }
        }
        for (conversation, records) in changes {
            guard let last = last(records, "changeParticipants") else { continue }
            switch last.action {
            case .add(_, let user) where !conversation.participants.contains(user):
                found(.lost, "\(conversation.id): \(user) was added")
            case .remove(_, let user) where conversation.participants.contains(user):
                found(.lost, "\(conversation.id): \(user) was removed")
            default: break
            }
        }
    }

    private mutating func checkDeletions() {
        for record in records
        where record.outcome == .accepted && !record.isUnreadable && !hasFailed("deleteMessage", record) {
            guard case .delete = record.action, let conversation = record.conversation.flatMap({ conversations[$0] })
            else { continue }
            for id in record.objects where conversation.messages.contains(where: { $0.id == id }) {
                found(.lost, "\(conversation.id): \(record.device) has deleted \(id), and it is listed")
            }
        }
    }
}
