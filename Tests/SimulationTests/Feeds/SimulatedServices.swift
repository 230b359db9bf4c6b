// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Redis
import StrataModel

@testable import FanOut
@testable import Gateway

/// The dependencies of one gateway's fan-out and registries: the log, which answers late or never, pub/sub, and the
/// names of users.
///
/// Rules that a scenario sabotages are broken here, as far as a service can make the fan-out break them.
final class SimulatedServices: @unchecked Sendable {
    let gateway: Int
    /// True if this gateway cannot reach the conversations service.
    var isCutOff = false
    /// The calls that are only failed at the end of the run.
    private var unanswered: [() -> Void] = []
    private unowned let world: FeedWorld
    private var sabotage: FeedScenario.Sabotage? { world.scenario.sabotage }

    init(of gateway: Int, _ world: FeedWorld) {
        self.gateway = gateway
        self.world = world
    }

    /// Fails the unanswered calls at the end of the run.
    func giveUp() {
        for fail in unanswered { fail() }
        unanswered = []
    }

    /// - Parameter isAnswered: false: the call is sent and never answered.
    private func call<Answer: Sendable>(
        _ what: StaticString, isForHeads: Bool = false, isAnswered: Bool = true, on loop: any EventLoop,
        _ body: @escaping (LogService) -> Answer
    ) -> EventLoopFuture<Answer> {
        let promise = loop.makePromise(of: Answer.self)
        guard isAnswered else {
            unanswered.append { promise.fail(Failure.unavailable) }
            return promise.futureResult
        }
        world.call(from: self, what, isForHeads: isForHeads, body) { answer in
            if let answer { promise.succeed(answer) } else { promise.fail(Failure.unavailable) }
        }
        return promise.futureResult
    }
}

extension SimulatedServices: ChangeSource {
    func changes(
        of conversation: ConversationID, after position: Position, users: [UserID], on loop: any EventLoop
    ) -> EventLoopFuture<ChangePage> {
        world.counts["repairs", default: 0] += 1
        let isFalse = sabotage == .staleNumbers
        return call("repair at the log", isAnswered: sabotage != .noRepair, on: loop) { log in
            var page = log.changes(
                of: log.index(of: conversation), after: position, users: users.map { log.index(of: $0) })
            // A change with counts of other users only leaves the known counts unchanged.
            if isFalse {
                for index in page.changes.indices {
                    page.changes[index].counts = [LogService.nobody: LogService.noCounts]
                }
            }
            return page
        }
    }

    func heads(since: Timestamp?, on loop: any EventLoop) -> EventLoopFuture<Heads> {
        let isAnswered = sabotage != .noHeads && !world.scenario.isReliable
        return call("heads at the log", isForHeads: true, isAnswered: isAnswered, on: loop) { $0.heads(since: since) }
    }

    func userChanges(
        of user: UserKey, after position: Position, on loop: any EventLoop
    ) -> EventLoopFuture<[UserChange]> {
        call("repair of user at the log", isAnswered: sabotage != .noRepair, on: loop) {
            $0.userChanges(of: $0.index(of: user.user), after: position)
        }
    }

    func endTyping(of user: UserKey, in conversation: ConversationID) {}
}

extension SimulatedServices: ChannelSubscriptions {
    var isAvailable: Bool { world.pubSub.isAvailable(gateway) }
    func subscribe(_ channels: [String]) {
        for channel in channels { world.pubSub.subscribe(world.channels[channel], gateway) }
    }
    func unsubscribe(_ channels: [String]) {
        for channel in channels { world.pubSub.unsubscribe(world.channels[channel], gateway) }
    }
    /// Returns immediately: catch-ups wait in virtual time, with ``SimulatedGateway/confirmation(of:user:_:)``.
    func confirmation(of channels: [String], deadline: ContinuousClock.Instant) async throws(RedisError) {}
}

extension SimulatedServices: RegistryServices {
    func presence(of user: UserID, for key: UserKey, on loop: any EventLoop) -> EventLoopFuture<Presence?> {
        loop.makeSucceededFuture(nil)
    }

    func knownIdentity(of key: UserKey) -> BasicIdentity? { BasicIdentity(userID: key.user) }
    func remember(_ identity: BasicIdentity, in app: AppID) {}
    func identity(of key: UserKey, on loop: any EventLoop) -> EventLoopFuture<BasicIdentity?> {
        loop.makeSucceededFuture(knownIdentity(of: key))
    }
    func sessionEnded(_ key: UserKey, tokenDigest: [UInt8]?) {}
}
