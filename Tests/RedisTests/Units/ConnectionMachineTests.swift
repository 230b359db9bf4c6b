// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import Redis

struct ConnectionMachineTests {
    private let backoff = Backoff(minimum: .milliseconds(100), maximum: .seconds(1))

    @Test func backoffDoublesUpToItsMaximumAndHalfOfItIsRandom() {
        var low = backoff
        #expect((0..<6).map { _ in low.next(jitter: 0) } == [50, 100, 200, 400, 500, 500].map { .milliseconds($0) })
        var high = backoff
        #expect((0..<2).map { _ in high.next(jitter: 0.5) } == [75, 150].map { .milliseconds($0) })
        high.reset()
        #expect(high.next(jitter: 0) == .milliseconds(50))
        var endless = backoff
        for _ in 0..<200 { #expect(endless.next(jitter: 0.999) <= .seconds(1)) }
    }

    @Test func connectsOnDemandAndAgainAfterALoss() {
        var machine = ReconnectStateMachine(backoff: backoff)
        #expect(!machine.isAway)
        #expect(machine.demanded() == .connect)
        #expect(machine.demanded() == .doNothing)
        #expect(!machine.isAway, "commands wait for the first attempt")
        #expect(machine.connected(now: .uptimeNanoseconds(0)) == .doNothing)
        #expect(machine.lost(now: .uptimeNanoseconds(1), jitter: 0) == .pause(.milliseconds(50)))
        #expect(machine.isAway)
        #expect(machine.pauseEnded() == .connect)
        #expect(machine.isAway, "commands do not wait for further attempts")
        #expect(machine.attemptFailed(jitter: 0) == .pause(.milliseconds(100)))
        #expect(machine.demanded() == .doNothing)
        #expect(machine.pauseEnded() == .connect)
        #expect(machine.connected(now: .uptimeNanoseconds(5)) == .doNothing)
        #expect(!machine.isAway)
    }

    @Test("only a connection that lasted starts the pauses afresh")
    func shortLivedConnections() {
        var machine = ReconnectStateMachine(backoff: backoff)
        _ = machine.demanded()
        for expected in [50, 100, 200] {
            _ = machine.connected(now: .uptimeNanoseconds(0))
            #expect(machine.lost(now: .uptimeNanoseconds(1000), jitter: 0) == .pause(.milliseconds(expected)))
            _ = machine.pauseEnded()
        }
        _ = machine.connected(now: .uptimeNanoseconds(0))
        #expect(machine.lost(now: .uptimeNanoseconds(2_000_000_000), jitter: 0) == .pause(.milliseconds(50)))
    }

    @Test func nothingHappensAfterClosing() {
        var machine = ReconnectStateMachine(backoff: backoff)
        _ = machine.demanded()
        machine.close()
        #expect(machine.connected(now: .uptimeNanoseconds(0)) == .discardConnection)
        #expect(machine.attemptFailed(jitter: 0) == .doNothing)
        #expect(machine.lost(now: .uptimeNanoseconds(0), jitter: 0) == .doNothing)
        #expect(machine.pauseEnded() == .doNothing)
        #expect(machine.demanded() == .doNothing)
    }

    @Test func idleConnectionIsAskedAndSilentOneClosed() {
        var machine = KeepaliveStateMachine()
        machine.received()
        #expect(machine.tick(isAwaitingReply: false) == .doNothing)
        #expect(machine.tick(isAwaitingReply: false) == .sendPing)
        #expect(machine.tick(isAwaitingReply: true) == .doNothing)
        #expect(machine.tick(isAwaitingReply: true) == .closeConnection)
    }

    @Test func busyConnectionIsNotAskedAndAnyByteIsASignOfLife() {
        var machine = KeepaliveStateMachine()
        machine.received()
        #expect(machine.tick(isAwaitingReply: true) == .doNothing)
        #expect(machine.tick(isAwaitingReply: true) == .doNothing)
        #expect(machine.tick(isAwaitingReply: true) == .doNothing)
        machine.received()
        for _ in 0..<3 { #expect(machine.tick(isAwaitingReply: true) == .doNothing) }
        #expect(machine.tick(isAwaitingReply: true) == .closeConnection)
    }

    @Test func handshakeSendsWhatIsConfigured() {
        var configuration = RedisConfiguration(endpoints: [])
        #expect(Handshake(configuration).commands == [["PING"]])
        configuration.password = "p"
        #expect(Handshake(configuration).commands == [["AUTH", "p"], ["PING"]])
        configuration.username = "u"
        configuration.clientName = "n"
        #expect(Handshake(configuration).commands == [["AUTH", "u", "p"], ["CLIENT", "SETNAME", "n"], ["PING"]])
    }

    @Test func handshakeFailsOnARefusedPasswordButNotOnARefusedName() {
        let refused = RedisValue.error(RedisServerError(text: "WRONGPASS no"))
        let configuration = RedisConfiguration(endpoints: [], password: "p", clientName: "n")
        var handshake = Handshake(configuration)
        guard case .fail(let error) = handshake.received(refused) else { return #expect(Bool(false)) }
        #expect(error.code == .connectionUnavailable && error.serverError?.kind == "WRONGPASS")
        handshake = Handshake(configuration)
        guard case .doNothing = handshake.received(.simple("OK")), case .doNothing = handshake.received(refused),
            case .becomeReady = handshake.received(.simple("PONG"))
        else { return #expect(Bool(false)) }
        guard case .fail = handshake.received(.simple("more")) else { return #expect(Bool(false)) }
    }

    @Test func theTimerIsSetForTheEarliestDeadlineOnly() {
        var timer = DeadlineTimer()
        let now = ContinuousClock.now
        #expect(timer.added(now + .seconds(5)) == true)
        #expect(timer.added(now + .seconds(5)) == false)
        #expect(timer.added(now + .seconds(9)) == false)
        #expect(timer.added(now + .seconds(1)) == true)
        timer.fired()
        #expect(timer.added(now + .seconds(9)) == true)
    }

    @Test func theQueueIsBoundedInCommandsAndInBytes() {
        let queue = CommandQueue(limit: 2, byteLimit: 1000)
        let command = { (size: Int) in Command([.bytes(ByteBuffer(repeating: 0, count: size))], key: nil, deadline: .now) }
        let commands = [command(10), command(10), command(10)]
        let first = queue.submit(commands)
        #expect(first.wake && first.refused.map(\.1.code) == [.queueFull] && first.refused.first?.0 === commands[2])
        var taken: [Command] = []
        queue.take(into: &taken)
        #expect(taken.count == 2)
        #expect(queue.submit([command(10)]).refused.count == 1, "what is in flight counts")
        queue.release(count: 2, bytes: commands[0].cost * 2)
        #expect(queue.submit([command(5000)]).refused.isEmpty, "one command of any size is let through")
        #expect(queue.submit([command(10)]).refused.map(\.1.code) == [.queueFull])
        queue.close()
        #expect(queue.submit([command(10)]).refused.map(\.1.code) == [.closed])
    }

    @Test func aCommandIsFinishedOnce() async throws {
        let command = Command(["GET"], key: nil, deadline: .now)
        let result = await command.result {
            #expect(command.finish(.success(.integer(1))))
            #expect(!command.finish(.success(.integer(2))))
        }
        #expect(try result.get() == .integer(1))
        #expect(command.isFinished)
        let again = await command.result { #expect(Bool(false), "must not be submitted") }
        #expect(try again.get() == .integer(1))
    }
}
