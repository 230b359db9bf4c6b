// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("typing: events for the app")
struct TypingReceiverTests {
    private let chat = ConversationID.random()
    private let other = ConversationID.random()
    private let start = ContinuousClock.now
    private let ana = Identity(userID: UserID(trusted: "ana"))
    private let ben = Identity(userID: UserID(trusted: "ben"))
    private var receiver = TypingReceiver(user: UserID(trusted: "me"))

    private func indicator(
        _ action: TypingAction, _ sender: Identity, in conversation: ConversationID? = nil
    ) -> TypingIndicator {
        TypingIndicator(conversationID: conversation ?? chat, sender: sender, action: action)
    }

    private mutating func receive(
        _ action: TypingAction, _ sender: Identity, in conversation: ConversationID? = nil, at second: Double = 0
    ) {
        _ = receiver.indicatorReceived(indicator(action, sender, in: conversation), isKnown: true, at: start + second)
    }

    @Test(
        "each action is published with its conversation and sender", .proves("TYPE-6", "TYPE-7"),
        arguments: TypingAction.allCases)
    mutating func published(_ action: TypingAction) {
        receive(.begin, ana)
        let given = indicator(action, ana)
        #expect(receiver.indicatorReceived(given, isKnown: true, at: start) == given)
    }

    @Test(
        "own signals, signals of unknown conversations and signals without a user are dropped",
        .proves("TYPE-25", "TYPE-26"))
    mutating func dropped() {
        #expect(
            receiver.indicatorReceived(
                indicator(.begin, Identity(userID: UserID(trusted: "me"))), isKnown: true, at: start) == nil)
        #expect(receiver.indicatorReceived(indicator(.begin, ana), isKnown: false, at: start) == nil)
        #expect(receiver.indicatorReceived(indicator(.begin, Identity(userID: nil)), isKnown: true, at: start) == nil)
        #expect(receiver.deadline == nil)
    }

    @Test("a finish of a participant who does not type is not published")
    mutating func doubleFinish() {
        #expect(receiver.indicatorReceived(indicator(.finish, ana), isKnown: true, at: start) == nil)
        receive(.begin, ana)
        receive(.finish, ana)
        #expect(receiver.indicatorReceived(indicator(.finish, ana), isKnown: true, at: start) == nil)
        #expect(receiver.deadline == nil)
    }

    @Test("a typist finishes after 25 s of silence", .proves("TYPE-24"), arguments: [TypingAction.begin, .pause])
    mutating func silence(_ action: TypingAction) {
        receive(action, ana)
        #expect(receiver.deadline == start + 25)
        #expect(receiver.timerDue(at: start + 24.9) == [])
        #expect(receiver.timerDue(at: start + 25) == [indicator(.finish, ana)])
        #expect(receiver.deadline == nil)
    }

    @Test("each signal restarts the 25 s")
    mutating func renewed() {
        receive(.begin, ana)
        receive(.begin, ana, at: 20)
        #expect(receiver.timerDue(at: start + 44.9) == [])
        #expect(receiver.timerDue(at: start + 45) == [indicator(.finish, ana)])
    }

    @Test("a message ends its sender's typing, once", .proves("TYPE-22"))
    mutating func message() {
        receive(.begin, ana)
        receive(.begin, ben)
        #expect(receiver.messageArrived(from: UserID(trusted: "ana"), in: chat) == indicator(.finish, ana))
        #expect(receiver.messageArrived(from: UserID(trusted: "ana"), in: chat) == nil)
        #expect(receiver.messageArrived(from: UserID(trusted: "ben"), in: other) == nil)
        #expect(receiver.indicatorReceived(indicator(.finish, ana), isKnown: true, at: start) == nil)
    }

    @Test("leaving a conversation ends the user's typing there only", .proves("TYPE-24"))
    mutating func left() {
        receive(.begin, ana)
        receive(.begin, ana, in: other)
        #expect(receiver.participantLeft(UserID(trusted: "ana"), from: chat) == indicator(.finish, ana))
        #expect(receiver.timerDue(at: start + 25) == [indicator(.finish, ana, in: other)])
    }

    @Test("a deleted conversation ends all typing in it", .proves("TYPE-24"))
    mutating func gone() {
        receive(.begin, ana)
        receive(.pause, ben, at: 1)
        receive(.begin, ana, in: other)
        #expect(receiver.conversationGone(chat) == [indicator(.finish, ana), indicator(.finish, ben)])
        #expect(receiver.conversationGone(chat) == [])
    }

    @Test("losing the connection ends all typing", .proves("TYPE-24"))
    mutating func lost() {
        receive(.begin, ana)
        receive(.begin, ben, in: other, at: 1)
        #expect(receiver.connectionLost() == [indicator(.finish, ana), indicator(.finish, ben, in: other)])
        #expect(receiver.deadline == nil)
    }

    @Test("an app that shows only begin as typing shows the right typists", .proves("TYPE-8"))
    mutating func simpleApp() {
        var shown: Set<String> = []
        func show(_ indicators: [TypingIndicator?]) -> Set<String> {
            for case let indicator? in indicators {
                let name = indicator.sender.id
                if indicator.action == .begin { shown.insert(name) } else { shown.remove(name) }
            }
            return shown
        }
        func signal(_ action: TypingAction, _ sender: Identity, at second: Double) -> [TypingIndicator?] {
            [receiver.indicatorReceived(indicator(action, sender), isKnown: true, at: start + second)]
        }
        #expect(show(signal(.begin, ana, at: 0)) == [ana.id])
        #expect(show(signal(.begin, ben, at: 1)) == [ana.id, ben.id])
        #expect(show(signal(.pause, ana, at: 2)) == [ben.id])
        #expect(show(signal(.begin, ana, at: 3)) == [ana.id, ben.id])
        #expect(show([receiver.messageArrived(from: UserID(trusted: "ben"), in: chat)]) == [ana.id])
        #expect(show(signal(.finish, ben, at: 4)) == [ana.id])
        #expect(show(receiver.timerDue(at: start + 28)) == [])
        #expect(show(signal(.begin, ben, at: 29)) == [ben.id])
        #expect(show(receiver.connectionLost()) == [])
    }

    @Test("the silence limit follows from the periods of the server")
    mutating func periods() {
        receiver = TypingReceiver(
            user: nil, periods: TypingPeriods(pause: .seconds(1), finish: .seconds(2), repetition: .seconds(0.5)))
        receive(.begin, ana)
        #expect(receiver.deadline == start + 6)
    }
}

@Suite("typing: packets")
struct TypingPacketTests {
    private let chat = ConversationID.random()

    private func packet(
        _ action: String = "started", type: String = "signal", kind: String = "typing_indicator"
    ) -> JSONValue {
        [
            "type": .string(type),
            "body": [
                "type": .string(kind), "object": ["type": "Conversation", "id": .string(chat.layerID)],
                "data": [
                    "sender": ["id": "layer:///identities/a%20b", "display_name": "Ana", "avatar_url": nil],
                    "action": .string(action),
                ],
            ],
        ]
    }

    @Test(
        "a typing packet has the sender, action and conversation", .proves("TYPE-27"), arguments: TypingAction.allCases)
    func read(_ action: TypingAction) {
        var sender = Identity(userID: UserID(trusted: "a b"))
        sender.displayName = "Ana"
        let expected = TypingIndicator(conversationID: chat, sender: sender, action: action)
        let word =
            switch action {
            case .begin: "started"
            case .pause: "paused"
            case .finish: "finished"
            }
        #expect(TypingIndicator(packet: packet(word)) == expected)
    }

    @Test("other packets are no typing indicators")
    func others() {
        for packet in [packet("thinking"), packet(type: "change"), packet(kind: "presence"), [:], nil] {
            #expect(TypingIndicator(packet: packet) == nil)
        }
        var strange = packet()
        strange["body"]["object"]["id"] = "layer:///messages/x"
        #expect(TypingIndicator(packet: strange) == nil)
    }
}
