// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import Testing

@testable import Soak

/// A checker that finds nothing proves nothing. Each test damages a good history in one way, and expects the checker to
/// detect it.
@Suite("checker")
struct CheckerTests {
    private typealias Change = History.Conversation.Change

    private static let id = "conversation"

    /// The change log of a conversation of Ana and Ben. Cleo is a participant from the fifth change to the eighth.
    private static let log: [Change] = [
        Change(position: 1, kind: .created(participants: ["ana", "ben"])),
        Change(position: 2, kind: .message("m1")),
        Change(position: 3, kind: .metadata([.init(path: "a", value: "v1")])),
        Change(position: 4, kind: .message("m2")),
        Change(position: 5, kind: .participants(added: ["cleo"], removed: [])),
        Change(position: 6, kind: .receipts),
        Change(position: 7, kind: .metadata([.init(path: "a", value: nil), .init(path: "a.b", value: "v2")])),
        Change(position: 8, kind: .participants(added: [], removed: ["cleo"])),
        Change(position: 9, kind: .message("m3")),
        Change(position: 10, kind: .messageDeleted("m2")),
    ]

    private static func operation(
        _ actor: String, _ action: History.Operation.Action, _ begun: Int, _ ended: Int,
        _ outcome: History.Operation.Outcome = .acknowledged
    ) -> History.Operation {
        History.Operation(actor: actor, conversation: id, action: action, begun: begun, ended: ended, outcome: outcome)
    }

    private static func received(_ positions: [Int]) -> [History.View.Event] {
        positions.map { .received(position: $0, what: "change") }
    }

    private static var mirror: Mirror {
        var mirror = Mirror()
        mirror.show([
            "position": 10, "unread_message_count": 1, "total_message_count": 2, "last_message": ["id": "m3"],
            "participants": [["id": "layer:///identities/ana"], ["id": "layer:///identities/ben"]],
            "metadata": ["a": ["b": "v2"]],
        ])
        mirror.show(message: [
            "id": "m1", "position": .integer(2 * Int64(Mirror.positionStep)),
            "sender": ["id": "layer:///identities/ana"],
            "recipient_status": ["layer:///identities/ana": "read", "layer:///identities/ben": "read"],
        ])
        return mirror
    }

    private static var good: History {
        History(
            operations: [
                operation("ana", .send(message: "m1"), 1, 2), operation("ben", .set(path: "a", value: "v1"), 3, 5),
                operation("ana", .send(message: "m2"), 4, 6), operation("ana", .add(user: "cleo"), 7, 8),
                operation("ben", .read(message: "m1"), 9, 10),
                operation("cleo", .set(path: "a.b", value: "v2"), 11, 12),
                operation("ana", .remove(user: "cleo"), 13, 14),
                operation("ben", .send(message: "m3"), 15, 20, .unknown),
                operation("ben", .send(message: "m4"), 16, 21, .unknown),
                operation("cleo", .send(message: "m5"), 17, 18, .refused),
            ],
            views: [
                History.View(
                    user: "ana", conversation: id, events: received([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), mirror: mirror),
                // Ben's connection was cut after the fifth change. The changes that he had not processed were repeated.
                History.View(
                    user: "ben", conversation: id,
                    events: received([1, 2, 3, 4, 5]) + [.restart] + received([3, 4, 5, 6, 7, 8, 9, 10])),
                History.View(
                    user: "cleo", conversation: id,
                    events: [.shown(position: 6), .listed(position: 6)] + received([5, 6, 7, 8])),
            ],
            typing: [
                History.Typing(reader: "ana", typist: "ben", conversation: id, action: "started", seconds: 1),
                History.Typing(reader: "ana", typist: "ben", conversation: id, action: "paused", seconds: 11),
                History.Typing(reader: "ana", typist: "ben", conversation: id, action: "finished", seconds: 21),
                History.Typing(reader: "ben", typist: "ana", conversation: id, action: "finished", seconds: 90),
            ],
            conversations: [
                History.Conversation(
                    id: id, log: log, participants: ["ana", "ben"], metadata: ["a.b": "v2"],
                    messages: [
                        History.Conversation.Message(
                            id: "m1", sender: "ana", recipients: ["ana", "ben"], readers: ["ana", "ben"]),
                        History.Conversation.Message(
                            id: "m3", sender: "ben", recipients: ["ana", "ben"], readers: ["ben"]),
                    ], unread: ["ana": 1, "ben": 0], shown: ["ana": mirror])
            ])
    }

    @Test("a valid history has no violations")
    func nothing() {
        #expect(Checker.violations(of: Self.good) == [])
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: Violation.Kind
        let apply: @Sendable (inout History) -> Void

        init(_ what: String, _ kind: Violation.Kind, _ apply: @escaping @Sendable (inout History) -> Void) {
            testDescription = what
            self.kind = kind
            self.apply = apply
        }
    }

    private static func index(_ position: Int, in history: History, view: Int = 0) -> Int {
        history.views[view].events.firstIndex(of: .received(position: position, what: "change")) ?? 0
    }

    /// Appends a change to the log, and delivers it to the remaining participants.
    private static func append(_ kind: Change.Kind, to history: inout History) {
        let position = history.conversations[0].log.count + 1
        history.conversations[0].log.append(Change(position: position, kind: kind))
        for view in 0...1 { history.views[view].events += received([position]) }
    }

    /// Gives a user who has left the counts of that time, on the server and on their client. Nothing is deleted after
    /// they left.
    private static func keepCounts(of user: String, total: Int, in history: inout History) {
        history.conversations[0].log[9] = Change(position: 10, kind: .receipts)
        history.conversations[0].messages
            .append(.init(id: "m2", sender: "ana", recipients: ["ana", "ben"], readers: ["ana", "ben"]))
        var kept = Mirror()
        (kept.unread, kept.total) = (0, total)
        history.conversations[0].kept = [user: kept]
        for index in history.views.indices where history.views[index].user == user {
            history.views[index].mirror = kept
        }
    }

    private static let damages: [Damage] = [
        Damage("a message is not told to a client", .lost) { $0.views[0].events.remove(at: index(9, in: $0)) },
        Damage("a change of metadata is not told to a client", .lost) {
            $0.views[0].events.remove(at: index(3, in: $0))
        },
        Damage("a deletion is not told to a client", .lost) { $0.views[0].events.remove(at: index(10, in: $0)) },
        Damage("a user is not told of their own removal", .lost) { $0.views[2].events.removeLast() },
        Damage("what a replay has to bring is missing from it", .lost) { history in
            history.views[1].events.removeAll { $0 == .received(position: 7, what: "change") }
        },
        Damage("a client is told twice", .duplicated) {
            $0.views[0].events.insert(.received(position: 4, what: "change"), at: index(4, in: $0))
        },
        Damage("two changes are told the wrong way round", .reordered) {
            $0.views[0].events.swapAt(index(3, in: $0), index(4, in: $0))
        },
        Damage("a user is told of what came after their removal", .leaked) {
            $0.views[2].events.append(.received(position: 9, what: "change"))
        },
        Damage("a stranger is told something", .leaked) { history in
            history.views.append(History.View(user: "dora", conversation: id, events: received([2])))
        },
        Damage("an acknowledged message is not in the log", .lost) {
            $0.conversations[0].log[1] = Change(position: 2, kind: .receipts)
        },
        Damage("a conversation that nothing else is known of is gone", .lost) { history in
            history = History(
                operations: [], views: [], typing: [],
                conversations: [.init(id: id, log: [], participants: [], metadata: [:], messages: [], unread: [:])])
        },
        Damage("the conversation is gone", .lost) { history in
            history.conversations[0] = .init(
                id: id, log: [], participants: [], metadata: [:], messages: [], unread: [:])
        },
        Damage("an acknowledged message is not listed", .lost) { $0.conversations[0].messages.removeFirst() },
        Damage("an acknowledged message is listed twice", .duplicated) { history in
            history.conversations[0].messages.append(history.conversations[0].messages[0])
        },
        Damage("an acknowledged value was written somewhere else", .lost) { history in
            history.conversations[0].log[2] = Change(position: 3, kind: .metadata([.init(path: "b", value: "v1")]))
        },
        Damage("an acknowledged value was never written", .lost) {
            $0.conversations[0].log[2] = Change(position: 3, kind: .receipts)
        },
        Damage("an acknowledged receipt is gone", .lost) { history in
            let old = history.conversations[0].messages[0]
            history.conversations[0].messages[0] = .init(
                id: old.id, sender: old.sender, recipients: old.recipients, readers: ["ana"])
            history.conversations[0].unread["ben"] = 1
        },
        Damage("a request of unknown outcome happened twice", .duplicated) { history in
            history.conversations[0].log.append(Change(position: 11, kind: .message("m3")))
        },
        Damage("a value was written twice", .duplicated) { history in
            history.conversations[0].log
                .append(Change(position: 11, kind: .metadata([.init(path: "a.b", value: "v2")])))
        },
        Damage("a refused message is there", .invented) {
            $0.conversations[0].log.append(Change(position: 11, kind: .message("m5")))
        },
        Damage("a message that no client sent is there", .invented) {
            $0.conversations[0].log.append(Change(position: 11, kind: .message("m9")))
        },
        Damage("a value that no client wrote is there", .invented) { history in
            history.conversations[0].log.append(Change(position: 11, kind: .metadata([.init(path: "x", value: "v9")])))
        },
        Damage("a position is missing", .gap) { $0.conversations[0].log.remove(at: 5) },
        Damage("a position was given twice", .duplicated) { history in
            history.conversations[0].log.insert(Change(position: 6, kind: .receipts), at: 6)
        },
        Damage("metadata is not what was written last", .inconsistent) { $0.conversations[0].metadata = ["a": "v1"] },
        Damage("a participant is missing", .inconsistent) { $0.conversations[0].participants = ["ana"] },
        Damage("an unread count is wrong", .inconsistent) { $0.conversations[0].unread["ana"] = 2 },
        Damage("an unread count is not what the messages say to a user who left", .inconsistent) { history in
            history.conversations[0].counts = [
                "ana": .init(reported: 1, shown: 1), "cleo": .init(reported: 0, shown: 2),
            ]
        },
        Damage("what was there when a user came is unread for them", .inconsistent) { history in
            let old = history.conversations[0].messages[0]
            history.conversations[0].messages[0] = .init(
                id: old.id, sender: old.sender, recipients: old.recipients + ["cleo"], readers: old.readers)
        },
        Damage("a message that was deleted for all is still listed", .invented) { history in
            history.conversations[0].messages
                .append(.init(id: "m2", sender: "ana", recipients: ["ana", "ben"], readers: ["ana", "ben"]))
        },
        Damage("what was done before something else began comes after it", .reordered) { history in
            // The last writer of a key would no longer win.
            history.operations[5] = operation("cleo", .set(path: "a.b", value: "v2"), -2, -1)
        },
        Damage("a client was told another number of unread messages", .stale) { $0.views[0].mirror.unread = 7 },
        Damage("a client was told another number of messages", .stale) { $0.views[0].mirror.total = 3 },
        Damage("a client was told another last message", .stale) { $0.views[0].mirror.lastMessage = "m1" },
        Damage("a client was told another title", .stale) { $0.views[0].mirror.metadata = ["a.b": "v1"] },
        Damage("a client was told other participants", .stale) { $0.views[0].mirror.participants.removeFirst() },
        Damage("a client was not told that a message has been read", .stale) { history in
            history.views[0].mirror.messages["m1"]?.statuses["layer:///identities/ben"] = "sent"
        },
        Damage("a user who left was told another number of messages than they keep", .stale) { history in
            keepCounts(of: "cleo", total: 3, in: &history)
            history.views[2].mirror.total = 2
        },
        Damage("an indicator stands although no user types", .stuck) {
            $0.typing.removeAll { $0.action != "started" && $0.reader == "ana" }
        },
        Damage("a message is never answered, although nothing is broken", .starved) { $0.isUndisturbed = true },
        Damage("a connection broke its rules", .protocolBroken) { $0.faults.append("counter 3 where 2 was due") },
    ]

    @Test("the checker finds every damage with its kind", arguments: damages)
    func found(_ damage: Damage) {
        var history = Self.good
        damage.apply(&history)
        let kinds = Set(Checker.violations(of: history).map(\.kind))
        #expect(kinds.contains(damage.kind), "\(kinds)")
    }

    struct Variation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let apply: @Sendable (inout History) -> Void

        init(_ what: String, _ apply: @escaping @Sendable (inout History) -> Void) {
            testDescription = what
            self.apply = apply
        }
    }

    private static let variations: [Variation] = [
        Variation("what a conversation was told with as it was shown") {
            $0.views[2].events = [.shown(position: 6)] + received([7, 8])
        },
        Variation("messages that were loaded with the list") { history in
            history.views[0].events = [.listed(position: 4)] + received([1, 3, 5, 6, 7, 8, 9, 10])
        },
        Variation("a deletion before the list was loaded") { history in
            history.views[0].events = received([1, 2, 3, 4, 5, 6, 7, 8, 9]) + [.listed(position: 10)]
        },
        Variation("a message that is gone since") { $0.views[0].events.remove(at: index(4, in: $0)) },
        Variation("a conversation that went from a client and came back") { history in
            history.views[1].events = received([1, 2, 3, 4, 5]) + [.removed] + received([3, 4, 5, 6, 7, 8, 9, 10])
        },
        Variation("what was asked for at the same time comes in any order") { history in
            history.operations[2] = operation("ana", .send(message: "m2"), 2, 4)
        },
        Variation("what was not answered is done later") { history in
            history.operations[7] = operation("ben", .send(message: "m3"), -2, -1, .unknown)
        },
        Variation("a conversation that is deleted holds nothing") { history in
            append(.deleted, to: &history)
            empty(&history)
        },
        Variation("a conversation without participants shows nothing") { history in
            append(.participants(added: [], removed: ["ana", "ben"]), to: &history)
            empty(&history)
        },
        Variation("a sender need not read their own message") { history in
            let old = history.conversations[0].messages[0]
            history.conversations[0].messages[0] = .init(
                id: old.id, sender: old.sender, recipients: old.recipients, readers: ["ben"])
        },
        Variation("a receipt of a user who is no recipient leaves nothing") { history in
            history.operations.append(operation("cleo", .read(message: "m1"), 30, 31))
        },
        Variation("a value takes the place of a subtree") { history in
            history.operations.append(operation("ben", .set(path: "a", value: "v3"), 30, 31))
            append(.metadata([.init(path: "a", value: "v3")]), to: &history)
            history.conversations[0].metadata = ["a": "v3"]
        },
        Variation("a subtree takes the place of a value") { history in
            history.operations.append(operation("ben", .set(path: "a.b.c", value: "v3"), 30, 31))
            append(.metadata([.init(path: "a.b.c", value: "v3")]), to: &history)
            history.conversations[0].metadata = ["a.b.c": "v3"]
        },
        Variation("all metadata is deleted") { history in
            append(.metadata([.init(path: "", value: nil)]), to: &history)
            history.conversations[0].metadata = [:]
        },
        Variation("a user who left knows the counts they keep") { keepCounts(of: "cleo", total: 3, in: &$0) },
        Variation("a user who left is not told of what is deleted after that") { history in
            keepCounts(of: "cleo", total: 2, in: &history)
            history.views[2].mirror.total = 3
            append(.messageDeleted("m2"), to: &history)
            history.conversations[0].messages.removeLast()
        },
        Variation("a client that knows no counts has none to compare") { history in
            keepCounts(of: "cleo", total: 3, in: &history)
            history.views[2].mirror = Mirror()
        },
    ]

    /// Makes the conversation appear empty to all users.
    private static func empty(_ history: inout History) {
        let log = history.conversations[0].log
        history.conversations[0] = .init(id: id, log: log, participants: [], metadata: [:], messages: [], unread: [:])
    }

    @Test("permitted repetitions and omissions are no violation", arguments: variations)
    func allowed(_ variation: Variation) {
        var history = Self.good
        variation.apply(&history)
        #expect(Checker.violations(of: history) == [])
    }

    @Test("requests cut off at the end of a run, and one unanswered request among many, are no violation")
    func served() {
        var history = Self.good
        history.isUndisturbed = true
        for index in history.operations.indices { history.operations[index].isCutShort = true }
        #expect(Checker.violations(of: history) == [])
        let lists = (0..<10).map { Self.operation("ana", .list, 100 + $0, 101 + $0, $0 < 2 ? .unknown : .acknowledged) }
        history.operations += lists
        #expect(Checker.violations(of: history) == [])
        history.operations += lists.prefix(1)
        #expect(Checker.violations(of: history).map(\.kind) == [.starved])
    }

    @Test("a message that was finally refused after an unanswered attempt is not starvation")
    func refusedAtLast() {
        var history = Self.good
        history.isUndisturbed = true
        for index in history.operations.indices { history.operations[index].isAnswered = true }
        #expect(Checker.violations(of: history) == [])
    }

    @Test("some damage causes each kind of violation")
    func complete() {
        #expect(Set(Self.damages.map(\.kind)) == Set(Violation.Kind.allCases))
    }

    @Test("a user may know positions from before they joined, and none from after they left")
    func participation() {
        let cleo = Participation(of: "cleo", in: Self.log)
        #expect((1...10).filter { cleo.mustKnow($0) } == [5, 6, 7, 8])
        #expect((1...10).filter { cleo.mayKnow($0) } == [1, 2, 3, 4, 5, 6, 7, 8])
    }
}
