// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@testable import StrataKit

@Suite("the connection: heartbeats and late events")
struct HeartbeatTests {
    private typealias Scene = ConnectionScene
    private var scene = ConnectionScene.open()

    @Test(
        "after 30 s without a packet the client pings the server, and a missing answer within 15 s is a loss",
        .proves("CLNT-5"))
    mutating func mute() {
        #expect(scene.deadline == 30)
        #expect(scene.on(.timerDue, at: 29.9) == [])
        #expect(scene.on(.timerDue, at: 30) == [.sendHeartbeat(1)])
        #expect(scene.deadline == 45)
        #expect(scene.on(.timerDue, at: 44.9) == [])
        let actions = scene.on(.timerDue, at: 45)
        let silence = StrataError(.connectionTimeout, "the server has not answered for too long")
        #expect(actions == [.close(1), .publish(.lost(silence)), Scene.attempt(2, after: 1)])
    }

    @Test("each packet restarts the 30 s")
    mutating func received() {
        #expect(scene.on(.received(1), at: 20) == [])
        #expect(scene.deadline == 50)
        #expect(scene.on(.timerDue, at: 30) == [])
        #expect(scene.on(.timerDue, at: 50) == [.sendHeartbeat(1)])
    }

    @Test("any packet answers the heartbeat", .proves("CLNT-5"))
    mutating func answered() {
        _ = scene.on(.timerDue, at: 30)
        #expect(scene.on(.received(1), at: 44) == [])
        #expect(scene.deadline == 74)
        #expect(scene.on(.timerDue, at: 74) == [.sendHeartbeat(1)])
    }

    @Test("after a long sleep of the device the server is pinged before the connection is closed")
    mutating func slept() {
        #expect(scene.on(.timerDue, at: 3600) == [.sendHeartbeat(1)])
        #expect(scene.deadline == 3615)
    }

    @Test("a network change ends a wait and pings an open connection")
    mutating func networkChanged() {
        #expect(scene.on(.networkChanged, at: 5) == [.sendHeartbeat(1)])
        #expect(scene.on(.networkChanged, at: 6) == [])
        #expect(scene.deadline == 20)
        _ = scene.on(.failed(1, Scene.lost), at: 7)
        #expect(scene.on(.networkChanged, at: 7.5) == [.open(2)])
        #expect(scene.on(.networkChanged, at: 7.6) == [])
        _ = scene.on(.stop, at: 8)
        #expect(scene.on(.networkChanged, at: 9) == [])
    }

    @Test("events of an abandoned socket change nothing")
    mutating func stale() {
        _ = scene.on(.timerDue, at: 30)
        _ = scene.on(.timerDue, at: 45)
        let waiting = scene.machine.state
        for event in [ConnectionMachine.Event.opened(1), .received(1), .failed(1, Scene.ended)] {
            #expect(scene.on(event, at: 45.5) == [])
        }
        #expect(scene.machine.state == waiting)
        _ = scene.on(.timerDue, at: 46)
        let opening = scene.machine.state
        for event in [ConnectionMachine.Event.opened(1), .received(1), .failed(1, Scene.ended)] {
            #expect(scene.on(event, at: 46.5) == [])
        }
        #expect(scene.machine.state == opening)
        #expect(scene.machine.socket == 2)
    }

    @Test("a message on an opening socket and a second opening are ignored")
    mutating func outOfTurn() {
        #expect(scene.on(.opened(1), at: 1) == [])
        _ = scene.on(.failed(1, Scene.lost), at: 2)
        _ = scene.on(.timerDue, at: 3)
        let opening = scene.machine.state
        #expect(scene.on(.received(2), at: 4) == [])
        #expect(scene.machine.state == opening)
    }

    @Test("events after the stop change nothing")
    mutating func afterStop() {
        _ = scene.on(.stop)
        for event in [ConnectionMachine.Event.opened(1), .received(1), .failed(1, Scene.lost), .timerDue] {
            #expect(scene.on(event, at: 99) == [])
        }
        #expect(scene.machine.state == .stopped)
    }
}
