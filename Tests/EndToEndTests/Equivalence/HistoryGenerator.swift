// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport

/// Generates a random history. Equal seeds give equal histories.
///
/// The generator tracks participants roughly, so that most operations have an effect. Some have none, or are refused
/// because another operation came first; this is intended.
struct HistoryGenerator {
    private var generator: SeededGenerator
    private var plan: HistoryPlan
    /// The approximate participants of each conversation; nil: deleted for all.
    private var rooms: [Set<Int>?] = []
    private var live: [Int] = []
    private var online: Set<Int> = []
    private var round: [HistoryPlan.Step] = []
    private var roundLimit = 1
    /// Users whose connection changes in this round. A connection changes at most once a round.
    private var touched: Set<Int> = []
    private var texts = 0

    static func plan(seed: UInt64, time: Int) -> HistoryPlan {
        var generator = HistoryGenerator(seed: seed, time: time)
        generator.fill()
        return generator.plan
    }

    private init(seed: UInt64, time: Int) {
        generator = SeededGenerator(seed: seed)
        plan = HistoryPlan(name: time == 0 ? "seed \(seed)" : "seed \(seed), time \(time)", time: time, members: [])
        let names = ["ana", "ben", "cleo.b", "dora_d", "e-mil"]
        for index in 0..<generator.int(3...5) {
            plan.members.append(
                HistoryPlan.Member(
                    name: "\(names[index]).\(String(seed, radix: 36))", version: generator.chance(50) ? .v2 : .v3,
                    gateway: generator.int(0...1),
                    isLate: generator.chance(15)))
        }
        online = Set(plan.members.indices.filter { !plan.members[$0].isLate })
    }

    private mutating func fill() {
        for _ in 0..<generator.int(1...2) { create() }
        endRound()
        for _ in 0..<generator.int(25...40) {
            one()
            if round.count >= roundLimit { endRound() }
        }
        for index in plan.members.indices where plan.members[index].isLate && !touchedEver.contains(index) {
            device(index, .openLate(via: generator.int(0...1)))
        }
        endRound()
        plan.endsWithMessages = generator.chance(40)
        plan.replayAgain = plan.members.indices.filter { _ in generator.chance(30) }
    }

    private var touchedEver: Set<Int> {
        Set(plan.rounds.joined().compactMap { step in if case .openLate = step.operation { step.actor } else { nil } })
    }

    private mutating func endRound() {
        if !round.isEmpty { plan.rounds.append(round) }
        (round, touched, roundLimit) = ([], [], generator.int(1...5))
    }

    private mutating func add(_ actor: Int, _ operation: HistoryPlan.Operation) {
        round.append(HistoryPlan.Step(actor: actor, operation: operation))
    }

    private mutating func one() {
        switch generator.int(0..<100) {
        case 0..<34: send()
        case 34..<42: receipt("read")
        case 42..<46: receipt("delivery")
        case 46..<51: receipts()
        case 51..<56: markAllRead()
        case 56..<68: changeMetadata()
        case 68..<78: changeParticipants()
        case 78..<84: deleteMessage()
        case 84..<87: deleteConversation()
        case 87: deleteUpTo()
        case 88..<91: create()
        case 91..<94: block()
        default: changeConnection()
        }
    }

    // MARK: Operations

    private mutating func create() {
        guard plan.conversations.count < 4 else { return send() }
        let conversation = plan.newConversation(&generator)
        let actor = anybody()
        let others = plan.members.indices.filter { $0 != actor && generator.chance(65) }
        let metadata: JSONValue? = generator.chance(40) ? tree() : nil
        rooms.append(Set(others + [actor]))
        live.append(conversation)
        add(
            actor,
            .create(
                conversation, with: others, distinct: generator.chance(40), metadata: metadata,
                overSocket: generator.chance(50)))
    }

    private mutating func send() {
        guard let (conversation, actor) = somewhere() else { return }
        let message = plan.newMessage(in: conversation, &generator)
        let notification: JSONValue? = generator.chance(15) ? ["title": "News", "text": "There is a message"] : nil
        add(
            actor,
            .send(message, parts: parts(of: message), notification: notification, overSocket: generator.chance(50)))
    }

    private mutating func parts(of message: Int) -> JSONValue {
        .array(
            (0..<generator.pick([1, 1, 1, 2, 3]))
                .map { _ in
                    texts += 1
                    switch generator.int(0...5) {
                    case 0:
                        return ["mime_type": "image/gif;role=preview", "body": "R0lGODlhAQ==", "encoding": "base64"]
                    case 1: return ["mime_type": "application/json", "body": "{\"n\": \(texts), \"q\": \"\\\"\"}"]
                    case 2:
                        let id = "\(plan.messages[message].id)/parts/\(generator.uuid())"
                        return ["id": .string(id), "mime_type": "text/plain", "body": "named \(texts)"]
                    default: return ["mime_type": "text/plain", "body": "text \(texts) – ça va? 🙂\n"]
                    }
                })
    }

    private mutating func receipt(_ type: String) {
        guard let message = someMessage() else { return send() }
        add(inside(plan.messages[message].conversation), .receipt(message, type))
    }

    /// Adds a receipt for some of the last messages, across conversations.
    private mutating func receipts() {
        let some = plan.messages.indices.suffix(8).filter { _ in generator.chance(60) }
        guard let first = some.first else { return send() }
        add(inside(plan.messages[first].conversation), .receipts(some, generator.pick(["read", "delivery"])))
    }

    private mutating func markAllRead() {
        guard let (conversation, actor) = somewhere() else { return }
        add(actor, .markAllRead(conversation, upTo: generator.chance(50) ? nil : generator.int(0...100)))
    }

    private mutating func block() {
        let (actor, other) = (anybody(), anybody())
        if actor != other { add(actor, .block(other, generator.chance(60))) }
    }

    private mutating func changeMetadata() {
        guard let (conversation, actor) = somewhere() else { return }
        add(actor, .patch(conversation, (0..<generator.pick([1, 1, 1, 2, 3])).map { _ in metadataPatch() }))
    }

    private mutating func metadataPatch() -> HistoryPlan.Patch {
        let path = "metadata." + generator.pick(["title", "a", "a.b", "a.b.c", "a.d", "x.y", "x.z"])
        switch generator.int(0...9) {
        case 0: return .set("metadata", tree())
        case 1...3: return .delete(path)
        case 4: return .set(path, tree())
        default: return .set(path, .string("value \(generator.int(0...4))"))
        }
    }

    private mutating func tree() -> JSONValue {
        generator.pick([
            [:], ["title": "one"], ["a": ["b": "1", "d": "2"]], ["a": ["b": ["c": "3"]], "x": ["y": "4"]],
        ])
    }

    private mutating func changeParticipants() {
        guard let (conversation, actor) = somewhere() else { return }
        var patches: [HistoryPlan.Patch] = []
        for _ in 0..<generator.pick([1, 1, 2]) {
            let user = generator.chance(20) ? actor : anybody()
            let isIn = rooms[conversation]?.contains(user) ?? false
            if isIn == generator.chance(90) {
                rooms[conversation]?.remove(user)
                patches.append(.remove(user))
            } else {
                rooms[conversation]?.insert(user)
                patches.append(.add(user))
            }
        }
        if generator.chance(25) { patches.append(metadataPatch()) }
        add(actor, .patch(conversation, patches))
    }

    private mutating func deleteMessage() {
        guard let message = someMessage() else { return send() }
        add(inside(plan.messages[message].conversation), .deleteMessage(message, forAll: generator.chance(50)))
    }

    private mutating func deleteConversation() {
        guard let (conversation, actor) = somewhere() else { return }
        let query = generator.pick([
            "mode=my_devices", "mode=my_devices", "mode=my_devices&leave=true", "mode=all_participants",
        ])
        if query.contains("leave") { rooms[conversation]?.remove(actor) }
        if query.contains("all") {
            rooms[conversation] = nil
            live.removeAll { $0 == conversation }
        }
        add(actor, .deleteConversation(conversation, query: query))
    }

    private mutating func deleteUpTo() {
        guard let (conversation, actor) = somewhere() else { return }
        let leaves = generator.chance(20)
        if leaves { rooms[conversation]?.remove(actor) }
        add(actor, .deleteUpTo(conversation, percent: generator.int(0...100), leaves: leaves))
    }

    private mutating func changeConnection() {
        let index = anybody()
        guard !touched.contains(index) else { return }
        if plan.members[index].isLate, !touchedEver.contains(index) {
            device(index, .openLate(via: generator.int(0...1)))
        } else if online.contains(index) {
            device(index, .drop(losing: generator.chance(50)))
        } else {
            device(index, .connect(via: generator.int(0...1)))
        }
    }

    private mutating func device(_ index: Int, _ operation: HistoryPlan.Operation) {
        touched.insert(index)
        if case .drop = operation { online.remove(index) } else { online.insert(index) }
        add(index, operation)
        // `touchedEver` reads finished rounds only, so the round ends here.
        if case .openLate = operation { endRound() }
    }

    // MARK: Random choices

    private mutating func anybody() -> Int { generator.pick(Array(plan.members.indices)) }

    /// Returns a conversation, usually an existing one, and a user, usually one of its participants.
    private mutating func somewhere() -> (conversation: Int, actor: Int)? {
        guard !plan.conversations.isEmpty else { return nil }
        if live.isEmpty, plan.conversations.count < 4 {
            create()
            endRound()
        }
        let conversation =
            live.isEmpty || generator.chance(3)
            ? generator.pick(Array(plan.conversations.indices)) : generator.pick(live)
        return (conversation, inside(conversation))
    }

    private mutating func inside(_ conversation: Int) -> Int {
        let people = (rooms[conversation] ?? []).sorted()
        return people.isEmpty || generator.chance(5) ? anybody() : generator.pick(people)
    }

    /// Returns a message, usually a recent one.
    private mutating func someMessage() -> Int? {
        guard !plan.messages.isEmpty else { return nil }
        let all = Array(plan.messages.indices)
        return generator.chance(60) ? generator.pick(Array(all.suffix(4))) : generator.pick(all)
    }
}

extension SeededGenerator {
    fileprivate mutating func int(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }
}
