// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import Logging
import NetKit
import ProtocolClient
import StrataModel

/// An actor that keeps the store of one signed-in user synchronized with the server. It owns the store, and carries out
/// the decisions of ``ConnectionMachine``, ``SyncMachine`` and ``OutgoingSchedule``.
///
/// Network traffic requires ``run()``. All writes to the store go through the engine, one at a time.
actor SyncEngine {
    typealias Instant = ContinuousClock.Instant

    struct Dependencies: Sendable {
        var server: ProtocolClient
        var options: StrataClient.Options
        /// Connects snapshots with their client while their session is the current one.
        var link: SessionLink
        var logger: Logger
        /// Called with each batch of changes, in order.
        var publishChanges: @Sendable ([ObjectChange]) -> Void
        /// Called with each event, in order.
        var publish: @Sendable (ClientEvent) -> Void
        var publishTyping: @Sendable (TypingIndicator) -> Void
        /// Called when the server no longer accepts a session token.
        var signInNeeded: @Sendable (_ token: String, SignInNeed) -> Void
    }

    nonisolated let access: StoreAccess
    private let executor: QueueExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    let dependencies: Dependencies
    let core: StoreCore
    let typing: TypingService
    var connection: EngineConnection
    var machine = SyncMachine()
    var requests = EngineRequests()
    var progress = EngineProgress()
    var content = EngineTransfers()
    var jobs = EngineJobs()
    private let timerChanged = Wakeup()

    /// The age, in microseconds, after which content that is in no message is uploaded again: 20 h. The server removes
    /// it after a day.
    static let uploadLifetime: Int64 = 20 * 3600 * 1_000_000
    /// The number of uploads of a part's content after which a missing content on the server counts as a refusal.
    static let uploadTries = 3
    static let automaticDownloads = 60

    nonisolated var me: UserID { access.me }
    nonisolated var database: any DatabaseWriter { access.database }
    nonisolated var contentFolder: URL? { access.contentFolder }
    var token: String? { connection.token }
    var socket: (number: Int, socket: ProtocolSocket)? { connection.socket }
    var transfers: ContentTransfers? { content.running }

    init(
        database: any DatabaseWriter, me: UserID, token: String?, contentFolder: URL?, dependencies: Dependencies
    ) throws {
        access = StoreAccess(
            database: database, me: me, contentFolder: contentFolder, owner: SnapshotOwner(dependencies.link))
        connection = EngineConnection(token: token)
        self.dependencies = dependencies
        executor = QueueExecutor(label: "strata.store")
        let core = try StoreCore(
            database, me: me, policy: dependencies.options.syncPolicy, contentFolder: contentFolder, owner: access.owner
        )
        // The previous process may have ended while it was connected.
        _ = try core.write(at: Date.now.microseconds) { try $0.presenceEnded() }
        let needed = core.queue.files
        self.core = core
        let reference = WeakReference<SyncEngine>()
        typing = TypingService(
            user: me, send: { action, conversation in await reference.object?.sendSignal(action, in: conversation) },
            publish: dependencies.publishTyping)
        reference.set(self)
        try access.clearContentFolder(except: needed)
    }

    deinit { progress.abandon() }

    // MARK: Running

    /// Connects, if there is a session token, and works until the task is cancelled. Can be called again afterwards.
    func run() async {
        let started = jobs.start()
        let transfers = makeTransfers()
        content.started(transfers)
        _ = writeOrReconnect { try $0.resetTransfers() }
        downloadNew()
        connect()
        await withDiscardingTaskGroup { group in
            group.addTask { await self.typing.run() }
            group.addTask { await transfers?.run() }
            group.addTask { await self.watchTime() }
            for await job in started { group.addTask { await job(self) } }
        }
        takeTransferEvents()
        jobs.stop()
        content.stopped()
        attemptEnded(.failed)
        await closeSocket()
        requests.stopped()
    }

    /// Runs a job outside the actor. Does nothing unless ``run()`` is running.
    func startJob(_ job: @escaping EngineJobs.Job) { jobs.add(job) }

    private func watchTime() async {
        while !Task.isCancelled {
            let now = ContinuousClock.now
            timerDue(at: now)
            let deadline = [connection.deadline, machine.deadline, requests.deadline].compactMap { $0 }.min()
            await timerChanged.wait(until: deadline, clock: ContinuousClock())
        }
    }

    private func timerDue(at now: Instant) {
        if let deadline = connection.deadline, deadline <= now {
            performConnectionActions(connection.handle(.timerDue, at: now, random: random))
            if !connection.isTrying { attemptEnded(.failed) }
        }
        performSyncActions(machine.timerDue(at: now))
        if requests.takeFinish(at: now) { finishOperations() }
        beginNext()
    }

    var random: Double { .random(in: 0..<1) }

    // MARK: The store

    /// Runs one transaction of the store and publishes its changes.
    /// - Throws: ``StrataError``, in which case nothing has changed.
    @discardableResult
    func write<Value>(_ body: (StoreTransaction) throws -> Value) throws -> Value {
        guard dependencies.link.isOpen else {
            throw StrataError(.notAuthenticated, "The session is no longer the current one.")
        }
        do {
            let outcome = try core.write(at: Date.now.microseconds, body)
            if !outcome.changes.isEmpty { dependencies.publishChanges(outcome.changes) }
            for failure in outcome.findings.failures { dependencies.publish(.operationFailed(failure)) }
            for (old, new) in outcome.findings.merged {
                dependencies.publish(.conversationMerged(from: old, into: new))
            }
            measure(outcome.findings)
            performSyncActions(machine.stored(outcome.findings, cursor: core.cursor, at: .now))
            updateTyping(of: outcome.changes)
            followContent(of: outcome.changes)
            requestPresence(of: outcome.changes)
            return outcome.value
        } catch let error as DatabaseError {
            throw StrataError(
                .devicePersistenceFailure, "The store could not be written: \(error.resultCode)", underlying: [error])
        }
    }

    /// Runs one transaction for the app, and starts the requests that result from it.
    func change<Value>(_ body: (StoreTransaction) throws -> Value) throws -> Value {
        let value = try write(body)
        proceed()
        return value
    }

    /// Runs a transaction of the synchronization. If it fails, the engine reconnects, and the next replay repeats the
    /// lost packets.
    func writeOrReconnect(_ body: (StoreTransaction) throws -> Void) -> Bool {
        guard dependencies.link.isOpen else { return false }
        do {
            try write(body)
            return true
        } catch {
            dependencies.logger.error("store failed", metadata: ["error.message": "\(error)"])
            dependencies.publish(
                .storeFailed(
                    error as? StrataError ?? StrataError(.devicePersistenceFailure, "\(error)", underlying: [error])))
            if let socket {
                socketLost(
                    socket.number,
                    failure: ConnectionFailure(
                        .reconnect(.later(.seconds(5))), StrataError(.devicePersistenceFailure, "The store failed.")))
            }
            return false
        }
    }

    /// Downloads the content of new parts, and removes the content of deleted parts.
    private func followContent(of changes: [ObjectChange]) {
        if !content.uploads.isEmpty { stopNeedlessUploads() }
        var hasNewParts = false
        var gone: Set<String> = []
        for change in changes {
            guard case .message(let message) = change.object else { continue }
            switch change.kind {
            case .create: hasNewParts = true
            case .update(let property):
                guard property.name == "parts", case .parts(let before)? = property.before else { continue }
                hasNewParts = true
                gone.formUnion(before.compactMap { $0.fileURL?.lastPathComponent })
            case .delete: gone.formUnion(message.parts.compactMap { $0.fileURL?.lastPathComponent })
            }
        }
        if !content.heldFiles.isEmpty {
            gone.formUnion(content.heldFiles)
            content.heldFiles = []
        }
        removeUnused(gone)
        if hasNewParts { downloadNew() }
    }

    private func updateTyping(of changes: [ObjectChange]) {
        for change in changes {
            switch (change.object, change.kind) {
            case (.message(let message), .create):
                guard let sender = message.sender.userID, sender != me else { continue }
                startJob { await $0.typing.messageArrived(from: sender, in: message.conversationID) }
            case (.conversation(let conversation), .delete):
                startJob { await $0.typing.conversationGone(conversation.id) }
            case (.conversation, .update(let property)) where property.name == "identifier":
                guard case .conversation(let before)? = property.before else { continue }
                startJob { await $0.typing.conversationGone(before) }
            case (.conversation(let conversation), .update(let property)) where property.name == "participants":
                guard case .participants(let before)? = property.before else { continue }
                for user in before.subtracting(conversation.participantIDs) {
                    startJob { await $0.typing.participantLeft(user, from: conversation.id) }
                }
            default: break
            }
        }
    }

    /// Reads one consistent state of the store. Never waits for a write.
    nonisolated func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreReader) throws -> Value
    ) async throws -> Value {
        try await access.read(body)
    }

    var connectionState: StrataClient.ConnectionState {
        switch connection.state {
        case .stopped: .disconnected
        case .waiting, .opening: .connecting
        case .open: .connected
        }
    }

    /// The number of changes that are unsent or unconfirmed.
    var pendingChangeCount: Int { core.queue.operations.values.count { $0.isUnanswered || $0.isAnswered } }
    /// True if the client is up to date with the server.
    var isLive: Bool { machine.isLive }

    // MARK: Next actions

    /// Starts the next loads and requests, and resets the timer.
    func proceed() {
        beginNext()
        timerChanged.signal()
    }

    /// Starts the next loads and requests.
    private func beginNext() {
        performSyncActions(machine.nextActions(for: core.cursor, at: .now))
        sendPending()
    }

    private func sendPending() {
        renewUploads()
        let steps = requests.nextSteps(
            for: core.queue, hasSocket: machine.isLive && socket != nil && token != nil, now: .now)
        guard !steps.isEmpty else { return }
        let ids = steps.compactMap { step in if case .send(let id, _) = step { id } else { nil } }
        guard writeOrReconnect({ $0.markAttempted(ids) }) else {
            for id in ids { requests.ended(id) }
            return
        }
        for step in steps {
            switch step {
            case .send(let id, let transport): sendOperation(id, over: transport)
            case .upload(let id): startJob { await $0.upload(id) }
            }
        }
    }

    private func sendOperation(_ id: UUID, over transport: OutgoingSchedule.Transport) {
        guard let operation = core.queue[id], let socket else { return requests.ended(id) }
        var isOrdered = false
        if case .socket(let ordered) = transport { isOrdered = ordered }
        requests.sent(operation)
        switch OutgoingRequest(operation, isOrdered: isOrdered) {
        case .socket(let method, let objectID, let data):
            if case .sendMessage = operation.change, let conversation = operation.conversation {
                startJob { await $0.typing.messageSent(in: conversation) }
            }
            var body: JSONValue = ["request_id": .string(Self.requestID(id)), "method": .string(method), "data": data]
            if let objectID { body["object_id"] = .string(objectID) }
            socket.socket.enqueuePacket(["type": "request", "body": body])
        case .rest(let method, let path, let body, let isIdempotent):
            let (server, token) = (dependencies.server, token)
            startJob { engine in
                var headers: [String: String] = [:]
                if isIdempotent { headers["Strata-Mutation"] = id.lowercaseText }
                do {
                    let answer = try await server.call(method, path, body: body, token: token, headers: headers)
                    await engine.answered(id, with: ServerAnswer(answer), to: token)
                } catch {
                    await engine.answered(
                        id, with: .retry(RequestFailure(error).error, counts: false, after: .seconds(1)))
                }
            }
        case nil: answered(id, with: .refused(StrataError(.unknown, "There is nothing to send.")))
        }
    }

    static func requestID(_ operation: UUID) -> String { "change-\(operation.lowercaseText)" }

    /// Returns the operation of a request id; nil if the request belongs to no operation.
    static func operation(_ requestID: String) -> UUID? {
        requestID.hasPrefix("change-") ? UUID(text: requestID.dropFirst("change-".count).utf8) : nil
    }

    /// Handles the answer to an operation in a separate transaction.
    /// - Parameter token: the token of the REST request.
    func answered(_ id: UUID, with answer: ServerAnswer, to token: String? = nil) {
        var answer = answer
        if case .signInNeeded = answer, let token {
            sessionEnded(nonce: nil, of: token)
            // The request is repeated after the next sign-in, or now if the user has already signed in again.
            answer = .retry(.network("The session has ended."), counts: false, after: .zero)
        }
        _ = writeOrReconnect { try self.applyAnswer(answer, to: id, in: $0) }
        proceed()
    }

    func applyAnswer(_ answer: ServerAnswer, to id: UUID, in store: StoreTransaction) throws {
        let target = requests.answered(id)
        guard let operation = store.queue[id] else { return }
        switch answer {
        case .success(let object, let positions):
            try store.operationSucceeded(id, positions: positions, object: object)
            if let conversation = store.queue[id]?.conversation {
                try store.finishOperations(in: [conversation], open: nil)
            }
            if operation.conversation == nil { try store.finishOperations(in: [], open: nil) }
        case .refused(let error):
            // The conversation was merged into another one, so the request is repeated there.
            if operation.conversation == target { try store.operationRefused(id, error: error) }
        case .contentGone(let error):
            guard operation.conversation == target else { return }
            let mayRepeat = operation.uploads?.values.allSatisfy { $0.times < Self.uploadTries } ?? false
            if mayRepeat {
                try store.forgetUploads(of: id) { _ in true }
            } else {
                try store.operationRefused(id, error: error)
            }
        case .retry(let error, let counts, let after):
            guard counts else {
                // The connection may still be open. Without a delay, the request would be repeated in a loop.
                if let after { requests.suspend(operation, for: after) }
                return
            }
            store.countTry(id)
            if !requests.retry(operation, requested: after, random: random) {
                try store.operationRefused(id, error: .gaveUp(after: requests.tries, error))
            }
        case .signInNeeded: startJob { await $0.sessionEnded(nonce: nil, of: $0.connection.socketToken) }
        }
    }

    /// Ends the answered operations that the last packet of their change did not end.
    private func finishOperations() {
        let waiting = Set(core.queue.operations.values.lazy.filter(\.isAnswered).compactMap(\.conversation))
        guard !waiting.isEmpty else { return }
        _ = writeOrReconnect { try $0.finishOperations(in: waiting, open: nil) }
    }
}
