// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("typing: signals of this device")
struct TypingSenderTests {
    private let chat = ConversationID.random()
    private let other = ConversationID.random()
    private let start = ContinuousClock.now
    private var sender = TypingSender(isConnected: true)

    /// Reports a typing action at a second after the start, and returns the signal that is sent.
    private mutating func call(
        _ action: TypingAction, at second: Double, in conversation: ConversationID? = nil
    ) -> TypingAction? {
        sender.called(action, in: conversation ?? chat, at: start + second)?.action
    }

    private mutating func due(at second: Double) -> [TypingAction] { sender.timerDue(at: start + second).map(\.action) }

    @Test("the three actions are started, paused and finished on the wire", .proves("TYPE-4", "TYPE-27"))
    func words() {
        #expect(TypingAction.allCases == [.begin, .pause, .finish])
        for (action, word) in [(TypingAction.begin, "started"), (.pause, "paused"), (.finish, "finished")] {
            let packet = TypingIndicator.packet(action, in: chat)
            #expect(packet["type"].string == "signal" && packet["body"]["type"].string == "typing_indicator")
            #expect(packet["body"]["object"]["id"].string == chat.layerID)
            #expect(packet["body"]["data"]["action"].string == word)
        }
    }

    @Test("begin pauses after 10 s without a call and finishes after 10 s more", .proves("TYPE-11", "TYPE-12"))
    mutating func periods() {
        #expect(call(.begin, at: 0) == .begin)
        #expect(sender.deadline == start + 10)
        #expect(due(at: 9.9) == [])
        #expect(due(at: 10) == [.pause])
        #expect(sender.deadline == start + 20)
        #expect(due(at: 19.9) == [])
        #expect(due(at: 20) == [.finish])
        #expect(sender.deadline == nil)
        #expect(due(at: 100) == [])
    }

    @Test("each call restarts the 10 s: begin at 0 and 9 pauses at 19", .proves("TYPE-11"))
    mutating func restarted() {
        _ = call(.begin, at: 0)
        #expect(call(.begin, at: 9) == .begin)
        #expect(due(at: 18.9) == [])
        #expect(due(at: 19) == [.pause])
    }

    @Test("100 calls in 2 s send one signal", .proves("TYPE-10", "TYPE-20"))
    mutating func merged() {
        var sent: [TypingAction] = []
        for step in 0..<100 { sent += [call(.begin, at: Double(step) / 50)].compactMap { $0 } }
        #expect(sent == [.begin])
        #expect(sender.deadline == start + 11.98)
    }

    @Test("a repeated action is sent again after 2.5 s, not before", .proves("TYPE-20"))
    mutating func repetition() {
        #expect(call(.begin, at: 0) == .begin)
        #expect(call(.begin, at: 2.4) == nil)
        #expect(call(.begin, at: 2.5) == .begin)
        #expect(call(.begin, at: 4.9) == nil)
        #expect(call(.begin, at: 5) == .begin)
    }

    @Test("a different action is sent at once", .proves("TYPE-20"))
    mutating func changes() {
        #expect(call(.begin, at: 0) == .begin)
        #expect(call(.pause, at: 0.1) == .pause)
        #expect(call(.begin, at: 0.2) == .begin)
        #expect(call(.finish, at: 0.3) == .finish)
        #expect(call(.begin, at: 0.4) == .begin)
    }

    @Test("a call after an automatic pause is sent at once", .proves("TYPE-20"))
    mutating func afterPause() {
        _ = call(.begin, at: 0)
        #expect(due(at: 10) == [.pause])
        #expect(call(.begin, at: 10.1) == .begin)
    }

    @Test("a pause by the app starts the second 10 s, from idle too", .proves("TYPE-21"))
    mutating func calledPause() {
        #expect(call(.pause, at: 0) == .pause)
        #expect(call(.pause, at: 3) == .pause)
        #expect(due(at: 12.9) == [])
        #expect(due(at: 13) == [.finish])
    }

    @Test("finish stops the timer, and is sent only after a begin", .proves("TYPE-21"))
    mutating func finish() {
        #expect(call(.finish, at: 0) == nil)
        _ = call(.begin, at: 1)
        #expect(call(.finish, at: 2) == .finish)
        #expect(sender.deadline == nil)
        #expect(call(.finish, at: 3) == nil)
    }

    @Test("a late timer sends only the last step")
    mutating func late() {
        _ = call(.begin, at: 0)
        #expect(due(at: 60) == [.finish])
        _ = call(.begin, at: 100)
        #expect(due(at: 115) == [.pause])
        #expect(sender.deadline == start + 120)
    }

    @Test("sending a message ends typing without a separate signal", .proves("TYPE-22"))
    mutating func message() {
        _ = call(.begin, at: 0)
        sender.messageSent(in: chat)
        #expect(sender.deadline == nil)
        #expect(call(.finish, at: 1) == nil)
        #expect(call(.begin, at: 1.1) == .begin)
    }

    @Test("conversations have separate states")
    mutating func independent() {
        #expect(call(.begin, at: 0) == .begin)
        #expect(call(.begin, at: 1, in: other) == .begin)
        sender.conversationGone(chat)
        #expect(sender.deadline == start + 11)
        #expect(sender.timerDue(at: start + 11) == [.init(action: .pause, conversationID: other)])
    }

    @Test("several conversations may be due at once")
    mutating func together() {
        _ = call(.begin, at: 0)
        _ = call(.begin, at: 1, in: other)
        #expect(sender.timerDue(at: start + 15).map(\.conversationID) == [chat, other])
    }

    @Test("the periods are configurable")
    mutating func otherPeriods() {
        sender = TypingSender(
            periods: TypingPeriods(pause: .seconds(1), finish: .seconds(2), repetition: .seconds(0.5)),
            isConnected: true)
        _ = call(.begin, at: 0)
        #expect(call(.begin, at: 0.5) == .begin)
        #expect(due(at: 1.5) == [.pause])
        #expect(due(at: 3.5) == [.finish])
    }
}
