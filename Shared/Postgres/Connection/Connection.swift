// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// A connection to PostgreSQL: non-blocking libpq driven by `poll`. Confined to the thread that opened it.
final class Connection {
    /// A statement prepared on this connection. The client chooses its name on the server, so that a stale plan can be
    /// replaced under a new name.
    struct Prepared {
        let sql: String
        let serverName: String
        /// The known types of the parameters; 0 if the server infers the type.
        let types: [UInt32]
        let columns = ColumnCache()
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
