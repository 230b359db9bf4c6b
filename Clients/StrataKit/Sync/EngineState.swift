// SPDX-License-Identifier: Apache-2.0
import Foundation
import NetKit
import ProtocolClient
import StrataModel

/// The connection of one engine: its session token, its socket, and the state machine that decides when to connect.
///
/// A value without I/O: the engine reports events, and carries out the actions.
struct EngineConnection {
    private var machine = ConnectionMachine()
    /// The session token; nil: the user must sign in again.
    private(set) var token: String?
    /// The token with which the socket was opened. It differs from the current token if the user has signed in again
    /// since.
    private(set) var socketToken: String?
    private(set) var socket: (number: Int, socket: ProtocolSocket)?
    /// Receives the result of the first attempt to connect, for the waiting call.
    private var firstAttempt: AsyncStream<FirstAttempt>.Continuation?
    /// The presence status that the user has chosen. It is sent after each connection.
    private(set) var presence = PresenceChoice.auto

    init(token: String?) { self.token = token }

    var state: ConnectionMachine.State { machine.state }
    /// The time at which the engine must handle ``ConnectionMachine/Event/timerDue``; nil: no timer is needed.
    var deadline: ConnectionMachine.Instant? { machine.deadline }
    /// True if a socket is open or opening.
    var isTrying: Bool { machine.socket != nil }
    /// True if the user has signed in again since the socket was opened.
    var isRenewed: Bool { token != nil && token != socketToken }

    mutating func handle(
        _ event: ConnectionMachine.Event, at now: ConnectionMachine.Instant, random: Double
    ) -> [ConnectionMachine.Action] {
        machine.handle(event, at: now, random: random)
    }

    mutating func choose(_ presence: PresenceChoice) { self.presence = presence }

    // MARK: The session

    mutating func signedIn(_ token: String) { self.token = token }

    /// Removes a token that the server no longer accepts.
    /// - Returns: false if the token was not the current one, because the user has signed in again.
    mutating func sessionEnded(_ ended: String?) -> Bool {
        guard token != nil, token == ended else { return false }
        token = nil
        return true
    }

    // MARK: The socket

    /// Prepares to open a socket.
    /// - Returns: the token to open it with.
    mutating func willOpen() -> String? {
        socketToken = token
        return token
    }

    /// Stores an open socket.
    /// - Returns: false if the socket was abandoned before it opened.
    mutating func opened(_ socket: ProtocolSocket, number: Int) -> Bool {
        guard machine.socket == number else { return false }
        self.socket = (number, socket)
        return true
    }

    /// Removes and returns the socket. Its later events are ignored.
    mutating func takeSocket() -> ProtocolSocket? { socket.take()?.socket }

    // MARK: The first attempt

    mutating func expectAttempt() -> AsyncStream<FirstAttempt> {
        let (stream, continuation) = AsyncStream.makeStream(of: FirstAttempt.self)
        firstAttempt = continuation
        return stream
    }

    /// Reports the result of the first attempt.
    /// - Returns: true if a call was waiting for it.
    mutating func attemptEnded(_ how: FirstAttempt) -> Bool {
        guard let waiting = firstAttempt.take() else { return false }
        waiting.yield(how)
        waiting.finish()
        return true
    }
}

/// The way in which the app learns that the user must sign in again.
enum SignInNeed: Hashable, Sendable {
    /// A challenge. The nonce is nil if the server did not send one.
    case challenge(nonce: String?)
    /// An error thrown by the call that is connecting.
    case thrown
}

enum FirstAttempt: Hashable, Sendable {
    case connected
    /// The attempt failed; the engine retries or was stopped.
    case failed
    case signInNeeded
}

/// The requests for pending changes of one engine: the schedule, the target conversations and the retry times.
///
/// A value without tasks: the engine sends the requests and reports their results.
struct EngineRequests {
    typealias Instant = ContinuousClock.Instant

    private var schedule = OutgoingSchedule()
    private let retries = RetryPolicy()
    /// The conversations to which requests were sent. A distinct conversation may have a new id when the answer
    /// arrives.
    private var targets: [UUID: ConversationID] = [:]
    /// The time at which to end operations whose last packets may be missing.
    private var finishAt: Instant?

    /// The time at which the engine must check the queue again; nil: no timer is needed.
    var deadline: Instant? { [schedule.nextRetry, finishAt].compactMap { $0 }.min() }
    var unanswered: Set<UUID> { schedule.unanswered }
    /// The number of attempts after which a change is given up.
    var tries: Int { retries.tries }

    mutating func nextSteps(for queue: OutgoingQueue, hasSocket: Bool, now: Instant) -> [OutgoingSchedule.Step] {
        schedule.nextSteps(for: queue, hasSocket: hasSocket, now: now)
    }

    /// Records the conversation to which a request is sent.
    mutating func sent(_ operation: QueuedOperation) { targets[operation.id] = operation.conversation }

    /// Reports the answer to a request.
    /// - Returns: the conversation to which the request was sent.
    mutating func answered(_ id: UUID) -> ConversationID? {
        schedule.operationEnded(id)
        return targets.removeValue(forKey: id)
    }

    /// Reports that an operation was not sent, or that its upload has ended.
    mutating func ended(_ id: UUID) { schedule.operationEnded(id) }

    /// Suspends the operation's lane for a time.
    mutating func suspend(_ operation: QueuedOperation, for pause: Duration) {
        schedule.suspend(OutgoingSchedule.lane(of: operation), until: .now + pause)
    }

    /// Schedules a retry of a failed request.
    /// - Parameters:
    ///   - requested: the delay that the server requests.
    ///   - random: a random number in 0..<1.
    /// - Returns: false if the maximum number of attempts is reached.
    mutating func retry(_ operation: QueuedOperation, requested: Duration?, random: Double) -> Bool {
        guard operation.tries + 1 < retries.tries else { return false }
        suspend(operation, for: retries.delay(after: operation.tries + 1, requested: requested, random: random))
        return true
    }

    // MARK: The end of operations

    /// Sets the time until which packets of answered changes are awaited.
    mutating func finishOperations(at time: Instant) { finishAt = time }

    /// Clears the time set by ``finishOperations(at:)`` if it has passed.
    /// - Returns: true if it has passed.
    mutating func takeFinish(at now: Instant) -> Bool {
        guard let finishAt, finishAt <= now else { return false }
        self.finishAt = nil
        return true
    }

    // MARK: The connection

    /// Reports a new connection: all retry delays end.
    mutating func connected() { schedule.connected() }

    mutating func socketLost() { schedule.socketLost() }

    /// Resets the requests when the engine stops. Unsent and unanswered requests are repeated in the next run.
    mutating func stopped() {
        schedule = OutgoingSchedule()
        targets = [:]
    }
}

/// The content transfers of one engine: the running transfers, their parts, and the failed downloads.
struct EngineTransfers {
    /// The names of files that no part refers to, but that an unconfirmed operation needs.
    var heldFiles: Set<String> = []
    /// The transfers; nil unless the engine is running.
    private(set) var running: ContentTransfers?
    /// The events of running transfers, for the engine to handle in order.
    let events = Mailbox<ContentTransferEvent>()
    /// The message parts that each running transfer moves. Several parts can have the same content.
    private var parts: [TransferID: [PartTransfer]] = [:]
    /// The operations whose parts are being uploaded, by part id.
    private(set) var uploads: [UUID: UUID] = [:]
    /// Content whose download failed or was cancelled. It is downloaded again only on request of the app.
    private(set) var failedDownloads: Set<ContentID> = []

    // MARK: Runs

    mutating func started(_ transfers: ContentTransfers?) {
        running = transfers
        failedDownloads = []
    }

    mutating func stopped() { running = nil }

    // MARK: Transfers

    mutating func began(_ id: TransferID, parts: [PartTransfer]) { self.parts[id] = parts }

    /// Removes a transfer.
    /// - Returns: the parts with their state at the start of the transfer.
    mutating func ended(_ id: TransferID) -> [PartTransfer] { parts.removeValue(forKey: id) ?? [] }

    func progress(of id: TransferID) -> TransferProgress? { parts[id]?.first?.progress }

    // MARK: Uploads

    mutating func uploadBegan(_ parts: [PartRecord], of operation: UUID) {
        for part in parts { uploads[part.id] = operation }
    }

    mutating func uploadEnded(_ parts: [PartRecord]) { for part in parts { uploads[part.id] = nil } }

    // MARK: Downloads

    mutating func downloadFailed(_ content: ContentID) { failedDownloads.insert(content) }

    /// Permits downloads of the content again, because the app has requested it.
    mutating func requested(_ content: ContentID) { failedDownloads.remove(content) }
}

/// The progress objects of one engine: for the synchronization, and for fetches of older messages.
struct EngineProgress {
    private var sync: (progress: TransferProgress, meter: SyncMeter)?
    private var histories: [ConversationID: TransferProgress] = [:]

    // MARK: The synchronization

    mutating func syncBegan() -> TransferProgress {
        let progress = TransferProgress(unit: .conversations)
        sync = (progress, SyncMeter())
        return progress
    }

    mutating func syncFinished() { sync.take()?.progress.finish(isComplete: true) }

    /// Changes the meter and publishes its values. Has no effect while no synchronization is in progress.
    mutating func measure(_ change: (inout SyncMeter) -> Void) {
        guard var meter = sync?.meter else { return }
        change(&meter)
        sync?.meter = meter
        sync?.progress.update(completed: meter.completed, total: meter.total)
    }

    // MARK: Older messages

    /// The conversations whose older messages are being fetched.
    var fetching: [ConversationID] { Array(histories.keys) }

    /// Returns the progress of a fetch; nil if the app has not been informed of one.
    func history(of id: ConversationID) -> TransferProgress? { histories[id] }

    /// Adds a fetch, of whose progress the app has been informed.
    mutating func historyBegan(of id: ConversationID, _ progress: TransferProgress) { histories[id] = progress }

    /// Removes a fetch. The caller finishes its progress.
    @discardableResult
    mutating func historyEnded(of id: ConversationID) -> TransferProgress? { histories.removeValue(forKey: id) }

    // MARK: The end

    /// Ends all progress as incomplete, because the engine was released.
    func abandon() {
        sync?.progress.finish(isComplete: false)
        for progress in histories.values { progress.finish(isComplete: false) }
    }
}

/// The progress of a synchronization: the number of conversations that are completely fetched.
struct SyncMeter: Hashable, Sendable {
    /// The size of the list of conversations, as far as the server has reported it.
    private var listed = 0
    /// The conversations in the received pages, and those that needed older messages.
    private var known: Set<ConversationID> = []
    /// The known conversations that still need older messages.
    private var incomplete: Set<ConversationID> = []

    var total: Int { max(listed, known.count) }
    var completed: Int { known.count - incomplete.count }

    /// Adds a page of the list of conversations.
    /// - Parameter total: the size of the whole list; nil if the server has not reported it.
    mutating func pageReceived(_ ids: some Sequence<ConversationID>, total: Int?) {
        known.formUnion(ids)
        listed = total ?? listed
    }

    mutating func historyNeeded(_ ids: some Sequence<ConversationID>) {
        known.formUnion(ids)
        incomplete.formUnion(ids)
    }

    mutating func historyFetched(of id: ConversationID) { incomplete.remove(id) }
}

/// The network jobs of an engine. They run in tasks outside the actor while the engine is running.
struct EngineJobs {
    typealias Job = @Sendable (SyncEngine) async -> Void

    private var queue: AsyncStream<Job>.Continuation?

    var isRunning: Bool { queue != nil }

    /// Opens the job queue.
    /// - Returns: the jobs to run.
    mutating func start() -> AsyncStream<Job> {
        let (jobs, queue) = AsyncStream.makeStream(of: Job.self)
        self.queue = queue
        return jobs
    }

    /// Adds a job. Does nothing unless the engine is running.
    func add(_ job: @escaping Job) { queue?.yield(job) }

    mutating func stop() { queue = nil }
}
