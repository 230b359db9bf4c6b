// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@testable import StrataKit

@Suite("typing: signals of this device across reconnects")
struct TypingOfflineTests {
    private let chat = ConversationID.random()
    private let start = ContinuousClock.now
    private var sender = TypingSender(isConnected: true)

    private mutating func call(_ action: TypingAction, at second: Double) -> TypingAction? {
        sender.called(action, in: chat, at: start + second)?.action
    }

    private mutating func restore(at second: Double) -> [TypingAction] {
        sender.connectionRestored(at: start + second).map(\.action)
    }

    @Test("calls without a connection change the state and send nothing, then or later", .proves("TYPE-23", "TYPE-9"))
    mutating func offline() {
        sender.connectionLost()
        for (second, action) in [TypingAction.begin, .pause, .begin, .finish].enumerated() {
            #expect(call(action, at: Double(second)) == nil)
        }
        #expect(sender.deadline == nil)
        #expect(restore(at: 5) == [])
    }

    @Test("a new service waits for the first connection")
    mutating func first() {
        sender = TypingSender()
        #expect(call(.begin, at: 0) == nil)
        #expect(restore(at: 1) == [.begin])
    }

    @Test("begin is sent again after reconnecting, even if it was sent recently", .proves("TYPE-23"))
    mutating func begin() {
        _ = call(.begin, at: 0)
        sender.connectionLost()
        #expect(restore(at: 1) == [.begin])
        #expect(call(.begin, at: 2) == nil)
        #expect(call(.begin, at: 3.5) == .begin)
    }

    @Test("a pause is not sent after reconnecting", .proves("TYPE-23"))
    mutating func pause() {
        _ = call(.begin, at: 0)
        _ = call(.pause, at: 1)
        sender.connectionLost()
        #expect(restore(at: 2) == [])
        #expect(sender.deadline == start + 11)
        #expect(call(.pause, at: 2.1) == .pause)
    }

    @Test(
        "typing that ended meanwhile is not sent, whether or not the timer fired", .proves("TYPE-23"),
        arguments: [true, false])
    mutating func over(_ timerCame: Bool) {
        _ = call(.begin, at: 0)
        sender.connectionLost()
        if timerCame { #expect(sender.timerDue(at: start + 10).isEmpty) }
        #expect(restore(at: 12) == [])
        #expect(sender.deadline == start + 20)
        #expect(sender.timerDue(at: start + 20).map(\.action) == [.finish])
    }

    @Test("an end without a connection is not sent")
    mutating func finishedOffline() {
        _ = call(.begin, at: 0)
        sender.connectionLost()
        #expect(sender.timerDue(at: start + 25).isEmpty)
        #expect(sender.deadline == nil)
        #expect(restore(at: 26) == [])
    }

    @Test("signing out and disconnecting end all typing without a signal", .proves("TYPE-29"))
    mutating func stop() {
        _ = call(.begin, at: 0)
        sender.stop()
        #expect(sender.deadline == nil)
        #expect(sender.timerDue(at: start + 30).isEmpty)
        #expect(restore(at: 31) == [])
    }

    @Test("a deleted conversation sends no signal", .proves("TYPE-29"))
    mutating func gone() {
        _ = call(.begin, at: 0)
        sender.conversationGone(chat)
        #expect(sender.deadline == nil)
        #expect(sender.timerDue(at: start + 30).isEmpty)
    }
}
