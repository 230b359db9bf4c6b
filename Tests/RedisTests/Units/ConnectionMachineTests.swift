// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit
import Testing

@testable import Redis

struct ConnectionMachineTests {
    private let backoff = Backoff(initial: .milliseconds(100), maximum: .seconds(1))

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

    @Test("only a long-lived connection resets the reconnect delays")
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
        guard case .fail(let error) = handshake.replyReceived(refused) else { return #expect(Bool(false)) }
        #expect(error.code == .connectionUnavailable && error.serverError?.kind == "WRONGPASS")
        handshake = Handshake(configuration)
        guard case .doNothing = handshake.replyReceived(.simple("OK")),
            case .doNothing = handshake.replyReceived(refused),
            case .becomeReady = handshake.replyReceived(.simple("PONG"))
        else { return #expect(Bool(false)) }
        guard case .fail = handshake.replyReceived(.simple("more")) else { return #expect(Bool(false)) }
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
