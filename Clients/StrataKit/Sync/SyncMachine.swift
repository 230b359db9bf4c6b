// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

/// Decides which requests bring the client up to date and keep it so: the rules of "First load" and "Coming back" in docs/protocol.md.
///
/// A value without a connection, a store or a clock. Its owner carries out the actions that each event returns, in order.
struct SyncMachine: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// An action that the owner carries out.
    enum Action: Hashable, Sendable {
        /// Send `Counter.read`, so that the socket goes live.
        case askToGoLive
        /// Send `Event.replay` from this time.
        case askForReplay(from: String)
        /// Let the store begin a full load, and compare its content with the result.
        case beginListing(epoch: String?, timestamp: String?)
        /// Store this time as the one to replay from.
        case keepTime(String)
        /// These changes were answered before a replay that has succeeded, so their effects have been received.
        case finish(Set<UUID>)
        case load(SyncLoad)
        /// The list cannot be continued; start it again.
        case restartList(SyncLoad)
        /// The server does not show the conversation to this user.
        case forget(ConversationID)
        /// Older messages of the conversation cannot be fetched.
        case abandonHistory(ConversationID)
        case publish(SyncEvent)
        /// Close the connection and reconnect.
        case reconnect
    }

    private enum Phase: Hashable {
        case offline
        case awaitingBaseline
        /// `answered`: the pending changes that were answered when the replay was asked for.
        case awaitingReplay(from: String, answered: Set<UUID>)
        /// A replay has failed; it is asked for again.
        case resting(until: Instant, from: String, answered: Set<UUID>)
        case live
    }

    private var phase = Phase.offline
    private(set) var loads = LoadPlan()
    /// Whether the app was told that a synchronization has begun and has not finished.
    private var isSynchronizing = false
    private var failedReplays = 0

    /// Whether packets and answers are up to date, so that changes can be sent.
    var isLive: Bool { phase == .live }
    /// When ``timerDue(at:)`` must be called; nil: no timer is needed.
    var deadline: Instant? {
        if case .resting(let until, _, _) = phase { return until }
        return isLive ? loads.nextRetry : nil
    }

    // MARK: The connection

    /// A socket is open.
    /// - Parameters:
    ///   - cursor: of the store.
    ///   - answered: the pending changes that the server has answered.
    ///   - history: the conversations of which older messages are to be fetched, most urgent first.
    mutating func socketOpened(_ cursor: SyncCursor, answered: Set<UUID>, history: [ConversationID]) -> [Action] {
        loads = LoadPlan()
        loads.want(history: history)
        failedReplays = 0
        var actions: [Action] = isSynchronizing ? [] : [.publish(.began)]
        isSynchronizing = true
        if let time = cursor.timestamp {
            phase = .awaitingReplay(from: time, answered: answered)
            actions.append(.askForReplay(from: time))
        } else {
            phase = .awaitingBaseline
            actions.append(.askToGoLive)
        }
        return actions
    }

    /// The socket is lost. Loads in progress are abandoned: their answers might be older than the packets of the next replay.
    mutating func lost() {
        phase = .offline
        loads = LoadPlan()
    }

    // MARK: Packets

    /// Whether the time of the packets that come may be kept as the one to replay from. During a replay it may not: packets then have the times of old
    /// changes, and the counts come at its end.
    var keepsTime: Bool { isLive }

    /// Packets that change objects were received. They are applied again to the answers of loads in progress.
    mutating func remember(_ packets: [JSONValue]) { loads.remember(packets) }

    /// The answer to ``Action/askToGoLive``.
    mutating func baselineAnswered(isSuccess: Bool, timestamp: String?, cursor: SyncCursor, at now: Instant) -> [Action] {
        guard phase == .awaitingBaseline else { return [] }
        guard isSuccess else { return [.reconnect] }
        phase = .live
        return [.beginListing(epoch: nil, timestamp: timestamp)]
    }

    /// The answer to ``Action/askForReplay(from:)``.
    /// - Parameters:
    ///   - random: from 0 up to 1, for the pause before a replay is asked for again.
    mutating func replayAnswered(
        isSuccess: Bool, isComplete: Bool, epoch: String?, timestamp: String?, cursor: SyncCursor, at now: Instant, random: Double
    ) -> [Action] {
        guard case .awaitingReplay(let from, let answered) = phase else { return [] }
        guard isSuccess else {
            failedReplays += 1
            // The server closes a socket whose client does not ask again within 30 seconds.
            let pause = min(Duration.seconds(20), .seconds(1) * (1 << min(failedReplays, 4))) * (0.5 + random / 2)
            phase = .resting(until: now + pause, from: from, answered: answered)
            return []
        }
        phase = .live
        let isOther = epoch.map { $0 != cursor.epoch && cursor.epoch != nil } ?? false
        guard isComplete, !isOther else { return [.beginListing(epoch: epoch, timestamp: timestamp)] }
        var actions: [Action] = timestamp.map { [.keepTime($0)] } ?? []
        actions.append(.finish(answered))
        return actions
    }

    mutating func timerDue(at now: Instant) -> [Action] {
        if case .resting(let until, let from, let answered) = phase, until <= now {
            phase = .awaitingReplay(from: from, answered: answered)
            return [.askForReplay(from: from)]
        }
        return []
    }

    // MARK: Loads

    /// The store was changed.
    /// - Parameter cursor: as it is now.
    /// - Returns: the loads to begin, among others.
    mutating func stored(_ findings: SyncFindings, cursor: SyncCursor, at now: Instant) -> [Action] {
        if findings.epochHasChanged, isLive {
            loads = LoadPlan()
            return [.beginListing(epoch: nil, timestamp: cursor.timestamp)]
        }
        loads.want(conversations: findings.unknownConversations)
        loads.want(history: findings.historyWanted)
        return nextActions(for: cursor, at: now)
    }

    mutating func nextActions(for cursor: SyncCursor, at now: Instant) -> [Action] {
        guard isLive else { return [] }
        var actions = loads.nextLoads(for: cursor.listing, at: now).map { Action.load($0) }
        if !actions.isEmpty, !isSynchronizing {
            isSynchronizing = true
            actions.insert(.publish(.began), at: 0)
        }
        if actions.isEmpty, isSynchronizing, loads.isEmpty, cursor.listing == nil {
            isSynchronizing = false
            actions.append(.publish(.finished))
        }
        return actions
    }

    /// The packets received since a load began, in order; nil if its answer is no longer of use.
    func packets(since load: SyncLoad) -> [JSONValue]? { loads.packets(since: load) }

    /// The store has the answer of a load.
    mutating func loaded(_ load: SyncLoad) { loads.loadEnded(load) }

    private func isNotFound(_ failure: RequestFailure) -> Bool {
        if case .permanent(_, let answer) = failure { answer?.status == 404 } else { false }
    }

    mutating func loadFailed(_ load: SyncLoad, failure: RequestFailure, at now: Instant, random: Double) -> [Action] {
        guard let packets = loads.packets(since: load) else { return [] }
        switch failure {
        case .transient(_, let after):
            loads.loadFailed(load, after: after, at: now, random: random)
            return []
        case .signInNeeded:
            loads.loadFailed(load, after: nil, at: now, random: random)
            return []
        case .permanent:
            loads.loadEnded(load)
            switch load {
            case .conversations(let next), .identities(let next), .announcements(let next), .blocks(let next):
                // The object before the page is gone. If even the first page fails, the list is requested again later.
                if next == nil { loads.loadFailed(load, after: nil, at: now, random: random) }
                return next == nil ? [] : [.restartList(load)]
            case .conversation(let id):
                // The conversation may have appeared since.
                let hasCome = packets.contains { packet in
                    packet["body"]["operation"].string == "create" && ConversationID(parsing: packet["body"]["object"]["id"].string ?? "") == id
                }
                return hasCome ? [] : [.forget(id)]
            case .history(let id):
                // The message before the page may be gone; the next attempt begins at another one.
                if isNotFound(failure) {
                    loads.loadFailed(load, after: nil, at: now, random: random)
                    return []
                }
                return [.abandonHistory(id)]
            }
        }
    }
}

/// Events of the synchronization for the app.
enum SyncEvent: Hashable, Sendable {
    case began
    case finished
}
