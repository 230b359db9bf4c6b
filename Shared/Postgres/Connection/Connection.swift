// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// One connection to PostgreSQL, non-blocking libpq driven by `poll`. Confined to the thread that opened it.
final class Connection {
    /// A statement prepared on this connection. The name on the server is ours, so that a stale plan can be replaced under a new one.
    struct Prepared {
        let sql: String
        let serverName: String
        /// The parameters' types as far as they were known; 0 where the server has inferred one.
        let types: [UInt32]
        let columns = ColumnCache()
    }

    let raw: OpaquePointer
    let wake: WakeSignal
    let configuration: PostgresConfiguration
    var prepared: [String: Prepared] = [:]
    var preparedCount = 0
    private var cancelRequest: CancelRequest?
    /// True if the server has ended the session while it was idle.
    private var isEnded = false

    init(raw: OpaquePointer, wake: WakeSignal, configuration: PostgresConfiguration) {
        self.raw = raw
        self.wake = wake
        self.configuration = configuration
        // The default receiver prints notices, which can quote user data, to standard error.
        PQsetNoticeReceiver(
            raw,
            { connection, notice in
                guard let connection, let notice, Connection.field(of: notice, code: "V") == "FATAL" else { return }
                Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue().isEnded = true
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { PQfinish(raw) }

    var socket: Int32 { PQsocket(raw) }

    /// Reads what the server sent on its own account while the connection was idle. False: it has closed the connection.
    ///
    /// Asked before each group: what is sent into a closed connection would have an unknown fate. A server that ends an idle session sends a fatal error,
    /// which libpq treats as a notice, before it closes the connection.
    func isAlive() -> Bool {
        guard PQstatus(raw) == CONNECTION_OK, settleCancel() else { return false }
        guard wake.hasInput(socket: socket) else { return true }
        guard PQconsumeInput(raw) == 1 else { return false }
        // libpq looks at unexpected messages (`PQisBusy`) only behind the end of a pipeline, which `PQgetResult` notes.
        if let result = PQgetResult(raw) { PQclear(result) }
        return PQisBusy(raw) == 0 && !isEnded && PQstatus(raw) == CONNECTION_OK
    }

    /// Waits until libpq can return a result without blocking. False: the connection is lost.
    ///
    /// `interrupted` is asked after each wake-up whether the answer is still wanted.
    func awaitResult(_ flight: inout Flight, interrupted: () -> Bool) -> Bool {
        while PQisBusy(raw) == 1 {
            let pending = PQflush(raw)
            guard pending >= 0 else { return false }
            var until: Flight.Instant?
            switch flight.next(now: .now) {
            case .wait(let limit): until = limit
            case .cancel:
                sendCancel()
                continue
            case .abandon: return false
            }
            // A TLS layer can hold bytes that poll does not see.
            if PQsslInUse(raw) != 0 {
                let soon = Flight.Instant.now.advanced(by: .milliseconds(20))
                until = until.map { min($0, soon) } ?? soon
            }
            let outcome = wake.wait(socket: socket, write: pending == 1, until: until)
            if outcome.signalled, interrupted(), case .cancel = flight.cancel(now: .now) { sendCancel() }
            if outcome.socketReady || PQsslInUse(raw) != 0, PQconsumeInput(raw) == 0 { return false }
        }
        return true
    }

    private func sendCancel() {
        cancelRequest = CancelRequest(raw, wake: wake)
    }

    /// Waits until a cancel request cannot hit what is sent next. False: it hangs, and the connection must not be used again.
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

    /// libpq's last words about this connection.
    var lastMessage: String? {
        PQerrorMessage(raw).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    static func error(from result: OpaquePointer) -> PostgresError {
        PostgresError(
            code: .server, sqlState: field(of: result, code: "C"),
            serverDetail: PQresultErrorMessage(result).map { String(cString: $0) })
    }

    /// Whether the result is an error after which the session goes on; others end it.
    static func isStatementError(_ result: OpaquePointer) -> Bool {
        field(of: result, code: "V") == "ERROR"
    }

    private static func field(of result: OpaquePointer, code: Unicode.Scalar) -> String? {
        PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
    }
}
