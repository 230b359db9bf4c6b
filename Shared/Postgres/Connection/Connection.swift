// SPDX-License-Identifier: Apache-2.0
import CLibPQ
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A connection to PostgreSQL: non-blocking libpq driven by `poll`. Confined to the thread that opened it.
final class Connection {
    /// A statement prepared on this connection. The client chooses its name on the server, so that a stale plan can be
    /// replaced under a new name.
    struct Prepared {
        let sql: String
        let serverName: String
        /// The known types of the parameters; 0 if the server infers the type.
        let types: [UInt32]
        let plans = RowPlans()
    }

    let raw: OpaquePointer
    let wake: WakeSignal
    let configuration: PostgresConfiguration
    var prepared: [String: Prepared] = [:]
    var preparedCount = 0
    private var cancelRequest: CancelRequest?
    /// True if the server ended the session while it was idle.
    private var isEnded = false

    init(raw: OpaquePointer, wake: WakeSignal, configuration: PostgresConfiguration) {
        self.raw = raw
        self.wake = wake
        self.configuration = configuration
        // The default receiver prints notices to standard error. They can quote user data.
        PQsetNoticeReceiver(
            raw,
            { connection, notice in
                guard let connection, let notice, Connection.field(of: notice, code: "V") == "FATAL" else { return }
                Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue().isEnded = true
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { PQfinish(raw) }

    var socket: Int32 { PQsocket(raw) }

    /// Reads messages that the server sent while the connection was idle. Returns false if the server has closed it.
    ///
    /// Called before each group, because statements sent on a closed connection have an unknown outcome. A server that
    /// ends an idle session first sends a fatal error, which libpq handles as a notice.
    func isAlive() -> Bool {
        guard PQstatus(raw) == CONNECTION_OK, settleCancel() else { return false }
        guard wake.hasInput(socket: socket) else { return true }
        guard PQconsumeInput(raw) == 1 else { return false }
        // libpq processes unexpected messages (`PQisBusy`) only after the end of a pipeline, which `PQgetResult`
        // detects.
        if let result = PQgetResult(raw) { PQclear(result) }
        return PQisBusy(raw) == 0 && !isEnded && PQstatus(raw) == CONNECTION_OK
    }

    /// Waits until libpq can return a result without blocking. Returns false if the connection is lost.
    ///
    /// `interrupted` is called after each wake-up and returns true if the result is no longer needed.
    func awaitResult(_ responseWait: inout ResponseWait, interrupted: () -> Bool) -> Bool {
        while PQisBusy(raw) == 1 {
            let pending = PQflush(raw)
            guard pending >= 0 else { return false }
            var until: ResponseWait.Instant?
            switch responseWait.next(now: .now) {
            case .wait(let limit): until = limit
            case .cancel:
                sendCancel()
                continue
            case .abandon: return false
            }
            // A TLS layer can buffer bytes that `poll` does not report.
            if PQsslInUse(raw) != 0 {
                let soon = ResponseWait.Instant.now.advanced(by: .milliseconds(20))
                until = until.map { min($0, soon) } ?? soon
            }
            let outcome = wake.wait(socket: socket, write: pending == 1, until: until)
            if outcome.signalled, interrupted(), case .cancel = responseWait.cancel(now: .now) { sendCancel() }
            if outcome.socketReady || PQsslInUse(raw) != 0, PQconsumeInput(raw) == 0 { return false }
        }
        return true
    }

    private func sendCancel() {
        cancelRequest = CancelRequest(raw, wake: wake)
    }

    /// Waits until a pending cancel request has finished. Returns false if it hangs; then the connection must not be
    /// used again.
    private func settleCancel() -> Bool {
        guard let request = cancelRequest else { return true }
        let limit = ContinuousClock.now.advanced(by: configuration.cancelGrace)
        while !request.isFinished, ContinuousClock.now < limit {
            _ = wake.wait(until: limit)
        }
        guard request.isFinished else { return false }
        cancelRequest = nil
        return true
    }

    var lastMessage: String? {
        PQerrorMessage(raw).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    static func error(from result: OpaquePointer) -> PostgresError {
        PostgresError(
            code: .server, sqlState: field(of: result, code: "C"),
            serverDetail: PQresultErrorMessage(result).map { String(cString: $0) })
    }

    /// Returns true if the result is an error that leaves the session open. Other errors end it.
    static func isStatementError(_ result: OpaquePointer) -> Bool {
        field(of: result, code: "V") == "ERROR"
    }

    private static func field(of result: OpaquePointer, code: Unicode.Scalar) -> String? {
        PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
    }
}

extension Connection {
    /// Connects, sets up the session and, for a pool, enters pipeline mode.
    ///
    /// Blocks the calling thread until the connect time-out at most, or until `giveUp` returns true after a wake-up.
    /// The resolver's own time-outs apply to name resolution.
    static func open(
        _ configuration: PostgresConfiguration, wake: WakeSignal, pipeline: Bool, giveUp: () -> Bool
    ) throws(PostgresError) -> Connection {
        let parameters = ConnectionParameters(configuration)
        let deadline = ContinuousClock.now.advanced(by: configuration.connectTimeout)
        let raw = start(parameters)
        guard let raw else { throw PostgresError(code: .connectionUnavailable, reason: "out of memory") }
        let connection = Connection(raw: raw, wake: wake, configuration: configuration)
        try connection.finishConnecting(deadline: deadline, giveUp: giveUp)
        guard PQsetnonblocking(raw, 1) == 0 else { throw connection.unavailable() }
        var responseWait = ResponseWait(
            sentAt: .now, deadline: deadline, longest: nil, grace: configuration.cancelGrace)
        do throws(PostgresError) {
            _ = try connection.run(
                parameters.settingsSQL, with: parameters.settings.flatMap { [$0.name, $0.value] },
                responseWait: &responseWait, interrupted: giveUp)
        } catch {
            throw PostgresError(
                code: .connectionUnavailable, sqlState: error.sqlState, reason: "the session cannot be set up",
                serverDetail: error.serverDetail)
        }
        guard !pipeline || PQenterPipelineMode(raw) == 1 else { throw connection.unavailable() }
        return connection
    }

    private static func start(_ parameters: ConnectionParameters) -> OpaquePointer? {
        let keywords = parameters.keywords.map { strdup($0.name) } + [nil]
        let values = parameters.keywords.map { strdup($0.value) } + [nil]
        defer { for text in keywords + values { free(text) } }
        return PQconnectStartParams(keywords.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 1)
    }

    private func finishConnecting(deadline: ContinuousClock.Instant, giveUp: () -> Bool) throws(PostgresError) {
        guard PQstatus(raw) != CONNECTION_BAD else { throw unavailable() }
        var write = true
        while true {
            let outcome = wake.wait(socket: socket, read: !write, write: write, until: deadline)
            if outcome.signalled, giveUp() { throw PostgresError(code: .closed) }
            guard outcome.socketReady else {
                if ContinuousClock.now >= deadline {
                    throw PostgresError(code: .connectionUnavailable, reason: "connecting took too long")
                }
                continue
            }
            switch PQconnectPoll(raw) {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: write = false
            case PGRES_POLLING_WRITING: write = true
            default: throw unavailable()
            }
        }
    }

    private func unavailable() -> PostgresError {
        PostgresError(code: .connectionUnavailable, serverDetail: lastMessage)
    }
}

// Queries outside pipeline mode, for session set-up and migrations.
extension Connection {
    func run(
        _ sql: String, with parameters: [String], responseWait: inout ResponseWait, interrupted: () -> Bool
    ) throws(PostgresError) -> Rows {
        let texts = parameters.map { strdup($0) }
        defer { for text in texts { free(text) } }
        let sent = PQsendQueryParams(raw, sql, Int32(texts.count), nil, texts.map { UnsafePointer($0) }, nil, nil, 1)
        guard sent == 1 else { throw lost() }
        return try collect(&responseWait, interrupted: interrupted)
    }

    /// Runs a script of any number of statements, function bodies included, with the simple protocol. A script without
    /// transaction control is atomic.
    func run(script: String, responseWait: inout ResponseWait, interrupted: () -> Bool) throws(PostgresError) {
        guard !script.utf8.contains(0) else {
            throw PostgresError(code: .invalidParameter, reason: "the script contains a NUL character")
        }
        guard PQsendQuery(raw, script) == 1 else { throw lost() }
        _ = try collect(&responseWait, interrupted: interrupted)
    }

    /// True if a transaction is open and has not failed.
    var isInTransaction: Bool { PQtransactionStatus(raw) == PQTRANS_INTRANS }

    /// Reads all results of the sent statements. Returns the last one or throws the first error.
    private func collect(_ responseWait: inout ResponseWait, interrupted: () -> Bool) throws(PostgresError) -> Rows {
        var failure: PostgresError?
        var last: ResultHandle?
        while true {
            guard awaitResult(&responseWait, interrupted: interrupted) else { throw failure ?? lost() }
            guard let result = PQgetResult(raw) else { break }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                last = ResultHandle(owning: result)
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                PQclear(result)
                throw PostgresError(code: .configuration, reason: "COPY is not supported")
            default:
                failure = failure ?? Self.error(from: result)
                PQclear(result)
            }
        }
        if let failure { throw failure }
        guard let last, PQstatus(raw) == CONNECTION_OK else { throw lost() }
        return Rows(last)
    }

    private func lost() -> PostgresError {
        PostgresError(
            code: PQstatus(raw) == CONNECTION_OK ? .configuration : .connectionUnavailable, serverDetail: lastMessage)
    }
}

/// A request to cancel the running statement of a connection, sent from its own thread.
///
/// libpq sends it over a second connection and waits without a time-out for the server to close that one. On the
/// connection's own thread, this would block as long as a network drops packets.
///
/// Until the request has finished, it can still cancel whatever is sent next. Therefore the connection must not be used
/// before that.
///
/// `@unchecked Sendable`: only the thread started here uses the pointer. `deinit` frees it after that thread has ended.
final class CancelRequest: @unchecked Sendable {
    private let raw: OpaquePointer
    private let finished = Atomic(false)

    /// Starts the request on libpq's `connection`. Signals `wake` when the server has forwarded the request, or cannot
    /// be reached.
    init?(_ connection: OpaquePointer, wake: WakeSignal) {
        guard let raw = PQgetCancel(connection) else { return nil }
        self.raw = raw
        do throws(PostgresError) {
            try OwnThread.start {
                self.send()
                wake.signal()
            }
        } catch {
            finished.store(true, ordering: .releasing)
        }
    }

    deinit { PQfreeCancel(raw) }

    var isFinished: Bool { finished.load(ordering: .acquiring) }

    private func send() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
            _ = PQcancel(raw, message.baseAddress, Int32(message.count))
        }
        finished.store(true, ordering: .releasing)
    }
}
