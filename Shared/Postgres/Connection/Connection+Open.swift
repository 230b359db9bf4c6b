// SPDX-License-Identifier: Apache-2.0

import CLibPQ

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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
