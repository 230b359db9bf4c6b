// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import StrataKit

/// A connection machine with helpers for events at a given number of seconds after the start.
struct ConnectionScene {
    var machine = ConnectionMachine()
    let start = ContinuousClock.now

    static let lost = ConnectionFailure(.reconnect(.now), StrataError(.networkRequestFailed, "lost"))
    static let busy = ConnectionFailure(.reconnect(.later(.seconds(5))), StrataError(.networkRequestFailed, "busy"))
    static let ended = ConnectionFailure(.signIn(nonce: "n1"), StrataError(.unauthenticated, "ended"))
    static let hopeless = ConnectionFailure(.none, StrataError(.networkRequestFailed, "no address"))

    mutating func on(
        _ event: ConnectionMachine.Event, at second: Double = 0, random: Double = 1
    ) -> [ConnectionMachine.Action] {
        machine.handle(event, at: start + second, random: random)
    }

    /// The deadline in seconds after the start.
    var deadline: Double? { machine.deadline.map { (($0 - start) / .milliseconds(1)).rounded() / 1000 } }

    /// Returns a scene with an open socket, number 1.
    static func open() -> ConnectionScene {
        var scene = ConnectionScene()
        _ = scene.on(.start)
        _ = scene.on(.opened(1))
        return scene
    }

    static func attempt(_ number: Int, after seconds: Double = 0) -> ConnectionMachine.Action {
        .publish(.willAttempt(number: number, delay: .nanoseconds(Int64(seconds * 1e9)), maximum: nil))
    }
}

@Suite("the connection: opening and reconnecting")
struct ConnectionMachineTests {
    private typealias Scene = ConnectionScene
    private var scene = ConnectionScene()

    @Test("start opens a socket at once and reports it (CLNT-3)")
    mutating func start() {
        #expect(scene.machine.state == .stopped)
        #expect(scene.deadline == nil)
        #expect(scene.on(.start) == [Scene.attempt(1), .open(1)])
        #expect(scene.on(.opened(1), at: 1) == [.publish(.connected)])
    }

    @Test("failed attempts repeat with growing waits, each announced (CLNT-4)")
    mutating func failures() {
        _ = scene.on(.start)
        var now = 0.0
        for (socket, wait) in zip(1..., [1.0, 2, 4, 8, 16, 30, 30]) {
            #expect(scene.on(.failed(socket, Scene.lost), at: now) == [Scene.attempt(socket + 1, after: wait)])
            now += wait
            #expect(scene.deadline == now)
            #expect(scene.on(.timerDue, at: now - 0.1) == [])
            #expect(scene.on(.timerDue, at: now) == [.open(socket + 1)])
        }
    }

    @Test("a lost stable connection leads to an immediate attempt (CLNT-4)")
    mutating func lost() {
        scene = .open()
        _ = scene.on(.received(1), at: 59)
        let expected: [ConnectionMachine.Action] = [.publish(.lost(Scene.lost.error)), Scene.attempt(1), .open(2)]
        #expect(scene.on(.failed(1, Scene.lost), at: 60) == expected)
    }

    @Test("a lost unstable connection keeps the count of attempts")
    mutating func flapping() {
        scene = .open()
        #expect(
            scene.on(.failed(1, Scene.lost), at: 59) == [.publish(.lost(Scene.lost.error)), Scene.attempt(2, after: 1)])
        _ = scene.on(.timerDue, at: 60)
        _ = scene.on(.opened(2), at: 60)
        #expect(
            scene.on(.failed(2, Scene.lost), at: 61) == [.publish(.lost(Scene.lost.error)), Scene.attempt(3, after: 2)])
    }

    @Test("the wait requested by the server is kept")
    mutating func asked() {
        _ = scene.on(.start)
        #expect(scene.on(.failed(1, Scene.busy), random: 0) == [Scene.attempt(2, after: 5)])
        scene = .open()
        #expect(
            scene.on(.failed(1, Scene.busy), at: 100, random: 0) == [
                .publish(.lost(Scene.busy.error)), Scene.attempt(1, after: 5),
            ])
    }

    @Test("a socket that does not open in time is closed")
    mutating func openingTimeout() {
        _ = scene.on(.start)
        #expect(scene.deadline == 20)
        #expect(scene.on(.timerDue, at: 19.9) == [])
        #expect(scene.on(.timerDue, at: 20) == [.close(1), Scene.attempt(2, after: 1)])
    }

    @Test(
        "a connection without a session stops and asks for a user, and a new start begins again",
        arguments: [true, false])
    mutating func signIn(_ wasOpen: Bool) {
        if wasOpen { scene = .open() } else { _ = scene.on(.start) }
        let asks: [ConnectionMachine.Action] = [.askForSignIn(nonce: "n1")]
        #expect(scene.on(.failed(1, Scene.ended)) == (wasOpen ? [.publish(.lost(Scene.ended.error))] + asks : asks))
        #expect(scene.machine.state == .stopped)
        #expect(scene.on(.start) == [Scene.attempt(1), .open(2)])
    }

    @Test("the connection gives up on permanent errors and after the maximum number of attempts (CLNT-4)")
    mutating func givesUp() {
        _ = scene.on(.start)
        #expect(scene.on(.failed(1, Scene.hopeless)) == [.publish(.disconnected(Scene.hopeless.error))])
        var policy = ReconnectPolicy()
        policy.attempts = 2
        scene.machine = ConnectionMachine(policy: policy)
        #expect(scene.on(.start) == [.publish(.willAttempt(number: 1, delay: .zero, maximum: 2)), .open(1)])
        #expect(scene.on(.failed(1, Scene.lost)) == [.publish(.willAttempt(number: 2, delay: .seconds(1), maximum: 2))])
        _ = scene.on(.timerDue, at: 1)
        #expect(scene.on(.failed(2, Scene.lost)) == [.publish(.disconnected(Scene.lost.error))])
        #expect(scene.machine.state == .stopped)
    }

    @Test("stop closes the connection and reports it once, in every state (CLNT-4)")
    mutating func stop() {
        #expect(scene.on(.stop) == [])
        _ = scene.on(.start)
        #expect(scene.on(.stop) == [.close(1), .publish(.disconnected(nil))])
        #expect(scene.on(.stop) == [])
        scene = .open()
        #expect(scene.on(.stop) == [.close(1), .publish(.disconnected(nil))])
        _ = scene.on(.start)
        _ = scene.on(.failed(2, Scene.lost))
        #expect(scene.on(.stop) == [.publish(.disconnected(nil))])
        #expect(scene.deadline == nil)
        #expect(scene.on(.timerDue, at: 100) == [])
    }

    @Test("a second start changes nothing")
    mutating func startTwice() {
        _ = scene.on(.start)
        #expect(scene.on(.start) == [])
        _ = scene.on(.failed(1, Scene.lost))
        #expect(scene.on(.start) == [])
        scene = .open()
        #expect(scene.on(.start) == [])
    }
}
