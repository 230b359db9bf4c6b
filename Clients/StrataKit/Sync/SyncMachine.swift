// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

/// A state machine that decides which requests bring the client up to date and keep it up to date. It implements the
/// rules of "First load" and "Coming back" in docs/protocol.md.
///
/// A value without connection, store or clock. The owner carries out the actions that each event returns, in order.
struct SyncMachine: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Action: Hashable, Sendable {
        /// Send `Counter.read`, after which the socket is live.
        case askToGoLive
        case askForReplay(from: String)
        /// Start a full load in the store, which compares its content with the result.
        case beginListing(epoch: String?, timestamp: String?)
        /// Store this time as the start of the next replay.
        case keepTime(String)
        /// End these operations. They were answered before a replay that has succeeded, so their effects have been
        /// received.
        case finish(Set<UUID>)
        case load(SyncLoad)
        /// Restart the list, because it cannot be continued.
        case restartList(SyncLoad)
        /// Remove the conversation, because the server does not show it to this user.
        case forget(ConversationID)
        /// Stop fetching older messages of the conversation, because they cannot be fetched.
        case abandonHistory(ConversationID)
        case publish(SyncEvent)
        case reconnect
    }

    private enum Phase: Hashable {
        case offline
        case awaitingBaseline
        /// A replay was requested. `answered`: the pending changes that were answered before the request.
        case awaitingReplay(from: String, answered: Set<UUID>)
        /// A replay failed, and is retried at a later time.
        case resting(until: Instant, from: String, answered: Set<UUID>)
        case live
    }

    private var phase = Phase.offline
    private(set) var loads = LoadPlan()
    /// True between the events ``SyncEvent/began`` and ``SyncEvent/finished``.
    private var isSynchronizing = false
    private var failedReplays = 0

    /// True if packets and answers are up to date, so that changes can be sent.
    var isLive: Bool { phase == .live }
    /// The time at which ``timerDue(at:)`` must be called; nil: no timer is needed.
    var deadline: Instant? {
        if case .resting(let until, _, _) = phase { return until }
        return isLive ? loads.nextRetry : nil
    }

    // MARK: The connection

    /// Handles a new socket.
    /// - Parameters:
    ///   - cursor: the cursor of the store.
    ///   - answered: the pending changes that the server has answered.
    ///   - history: the conversations that need older messages, most urgent first.
    mutating func socketOpened(_ cursor: SyncCursor, answered: Set<UUID>, history: [ConversationID]) -> [Action] {
        loads = LoadPlan()
        loads.add(history: history)
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

    /// Handles the loss of the socket. Loads in progress are abandoned, because their answers could be older than the
    /// packets of the next replay.
    mutating func lost() {
        phase = .offline
        loads = LoadPlan()
    }

    // MARK: Packets

    /// True if the time of incoming packets may be stored as the start of the next replay. False during a replay, whose
    /// packets have the times of old changes, and whose counts follow at the end.
    var keepsTime: Bool { isLive }

    /// Records packets that change objects. They are reapplied to the answers of loads in progress.
    mutating func remember(_ packets: [JSONValue]) { loads.remember(packets) }

    mutating func baselineAnswered(isSuccess: Bool, timestamp: String?, cursor: SyncCursor, at now: Instant) -> [Action]
    {
        guard phase == .awaitingBaseline else { return [] }
        guard isSuccess else { return [.reconnect] }
        phase = .live
        return [.beginListing(epoch: nil, timestamp: timestamp)]
    }

    /// Handles the answer to ``Action/askForReplay(from:)``.
    /// - Parameters:
    ///   - random: a random number in 0..<1, for the delay before a retry.
    mutating func replayAnswered(
        isSuccess: Bool, isComplete: Bool, epoch: String?, timestamp: String?, cursor: SyncCursor, at now: Instant,
        random: Double
    ) -> [Action] {
        guard case .awaitingReplay(let from, let answered) = phase else { return [] }
        guard isSuccess else {
            failedReplays += 1
            // The server closes a socket if its client does not retry within 30 s.
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

    /// Handles a change of the store.
    /// - Parameter cursor: the cursor after the change.
    /// - Returns: the loads to start, among other actions.
    mutating func stored(_ findings: SyncFindings, cursor: SyncCursor, at now: Instant) -> [Action] {
        if findings.epochHasChanged, isLive {
            loads = LoadPlan()
            return [.beginListing(epoch: nil, timestamp: cursor.timestamp)]
        }
        loads.add(conversations: findings.unknownConversations)
        loads.add(history: findings.historyWanted)
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

    /// Returns the packets received since a load began, in order; nil if its answer is no longer needed.
    func packets(since load: SyncLoad) -> [JSONValue]? { loads.packets(since: load) }

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
                // The object before the page was deleted. If even the first page fails, the list is retried later.
                if next == nil { loads.loadFailed(load, after: nil, at: now, random: random) }
                return next == nil ? [] : [.restartList(load)]
            case .conversation(let id):
                // The conversation may have been created during the load.
                let hasCome = packets.contains { packet in
                    packet["body"]["operation"].string == "create"
                        && ConversationID(parsing: packet["body"]["object"]["id"].string ?? "") == id
                }
                return hasCome ? [] : [.forget(id)]
            case .history(let id):
                // The message before the page may have been deleted; the retry starts at another one.
                if isNotFound(failure) {
                    loads.loadFailed(load, after: nil, at: now, random: random)
                    return []
                }
                return [.abandonHistory(id)]
            }
        }
    }
}

enum SyncEvent: Hashable, Sendable {
    case began
    case finished
}
