// SPDX-License-Identifier: Apache-2.0

import NetKit

/// The loop of one connection's thread: it connects, serves groups until the connection is lost, and reconnects.
struct ConnectionWorker {
    private let core: PoolCore
    private let index: Int
    private let wake: WakeSignal
    private var timers: StatementTimers
    private var backoff: Backoff

    /// True if the current connection has served a group.
    private var hasServed = false

    private enum End { case lost, stop }

    init(core: PoolCore, index: Int, wake: WakeSignal) {
        self.core = core
        self.index = index
        self.wake = wake
        timers = StatementTimers(pool: core.metrics.pool)
        backoff = Backoff(initial: core.configuration.reconnectMinimum, maximum: core.configuration.reconnectMaximum)
    }

    consuming func run() {
        var isFirst = true
        while !core.shouldStopConnecting(index) {
            do throws(PostgresError) {
                let connection = try Connection.open(core.configuration, wake: wake, pipeline: true) {
                    core.shouldStopConnecting(index)
                }
                core.connected(index)
                if !isFirst { core.metrics.reconnected() }
                isFirst = false
                guard serve(connection) == .lost else { return }
                core.disconnected(index)
                // If the server closes a new connection before it served a group, back off, so that the loop does not
                // reconnect without a pause.
                if hasServed { backoff.reset() } else { pause() }
            } catch {
                core.connectFailed(index, with: error)
                pause()
            }
        }
    }

    private mutating func pause() {
        let until = ContinuousClock.now.advanced(by: backoff.next())
        while ContinuousClock.now < until, !core.shouldStopConnecting(index) {
            _ = wake.wait(until: until)
        }
    }

    private mutating func serve(_ connection: Connection) -> End {
        hasServed = false
        while true {
            switch core.take(index) {
            case .run(let group, let expired, _):
                core.resume(expired)
                core.metrics.grouped(group.count)
                guard run(group, on: connection) else { return .lost }
                hasServed = true
            case .sleep(let expired):
                core.resume(expired)
                let outcome = wake.wait(socket: connection.socket, until: nil)
                if outcome.socketReady, !connection.isAlive() { return .lost }
            case .stop:
                return .stop
            }
        }
    }

    // MARK: Groups

    /// Runs a group. Returns false if the connection is lost; every member has then been answered or requeued.
    private mutating func run(_ group: [PoolCore.Machine.Taken], on connection: Connection) -> Bool {
        guard let (batch, members, rest) = Self.batch(in: group) else { return runGroup(group, on: connection) }
        guard run(members, as: batch, on: connection) else {
            core.requeue(rest.map(\.id), worker: index)
            return false
        }
        return rest.isEmpty || runGroup(rest, on: connection)
    }

    /// Returns the members of a group that one batch can carry out, and the others. nil: there is no such batch.
    ///
    /// The others need a transaction of their own, because a transaction takes locks in the order of the group.
    private static func batch(
        in group: [PoolCore.Machine.Taken]
    ) -> (Statement.Batch, members: [PoolCore.Machine.Taken], rest: [PoolCore.Machine.Taken])? {
        let batched = group.lazy.map(\.payload.statement).first { $0.batch != nil }
        guard let batched, let batch = batched.batch else { return nil }
        let members = group.filter { $0.payload.statement.name == batched.name }
        guard members.count >= batch.minimum else { return nil }
        return (batch, members, group.filter { $0.payload.statement.name != batched.name })
    }

    /// Runs statements as one batch, and those that it leaves out as a group. Returns false if the connection is lost.
    private mutating func run(
        _ members: [PoolCore.Machine.Taken], as batch: Statement.Batch, on connection: Connection
    ) -> Bool {
        guard let statement = members.first?.payload.statement.batchStatement,
            let parameters = try? EncodedParameters(
                of: members.map(\.payload.parameters), as: batch, statement: statement.name)
        else { return runGroup(members, on: connection) }
        var responseWait = responseWait(for: members)
        let outcome = connection.execute(
            [GroupMember(statement: statement, parameters: parameters)], responseWait: &responseWait
        ) { core.shouldInterrupt(index) }
        switch outcome {
        case .committed(let results):
            guard case .success(let result)? = results.first else { return runGroup(members, on: connection) }
            guard let rows = result.divided(among: members.count) else {
                let name = statement.name
                finish(members, with: members.map { _ in .failure(PostgresError(code: .fateUnknown, statement: name)) })
                return true
            }
            let carriedOut = zip(members, rows).compactMap { member, rows in rows.map { (member, $0) } }
            finish(carriedOut.map(\.0), with: carriedOut.map { .success($0.1) })
            let leftOut = zip(members, rows).filter { $0.1 == nil }.map(\.0)
            return leftOut.isEmpty || runGroup(leftOut, on: connection)
        case .lost(let error, let rolledBack):
            lose(members, after: error, rolledBack: rolledBack)
            return false
        case .refused:
            // Another plan is prepared at the next use, in case this one is stale.
            connection.forget(statement)
            return runGroup(members, on: connection)
        }
    }

    /// Runs statements in one transaction. Returns false if the connection is lost.
    private mutating func runGroup(_ group: [PoolCore.Machine.Taken], on connection: Connection) -> Bool {
        if let only = group.first, group.count == 1 { return runAlone(only, on: connection) }
        switch execute(group, on: connection) {
        case .committed(let results):
            finish(group, with: results)
            return true
        case .lost(let error, let rolledBack):
            lose(group, after: error, rolledBack: rolledBack)
            return false
        case .refused:
            core.metrics.reran()
            core.hold(group.map(\.id), worker: index)
            for (position, member) in group.enumerated() where core.send(member.id, worker: index) {
                guard runAlone(member, on: connection) else {
                    core.requeue(group[(position + 1)...].map(\.id), worker: index)
                    return false
                }
            }
            return true
        }
    }

    /// Runs one statement with its own sync. Repeats it if it lost a race or its plan is stale. Returns false if the
    /// connection is lost.
    private mutating func runAlone(_ member: PoolCore.Machine.Taken, on connection: Connection) -> Bool {
        var races = 0
        var hasPreparedAnew = false
        while true {
            var responseWait = responseWait(for: [member])
            switch execute([member], on: connection, responseWait: &responseWait) {
            case .committed(let results):
                finish([member], with: results)
                return true
            case .lost(let error, let rolledBack):
                lose([member], after: error, rolledBack: rolledBack)
                return false
            case .refused(let error):
                if SQLState.isStalePlan(error.sqlState), !hasPreparedAnew {
                    hasPreparedAnew = true
                    connection.forget(member.payload.statement)
                    continue
                }
                if SQLState.isRace(error.sqlState), races < 3, ContinuousClock.now < member.deadline,
                    !core.shouldInterrupt(index)
                {
                    races += 1
                    _ = wake.wait(until: .now.advanced(by: .milliseconds(races) * Double.random(in: 0.5...2)))
                    continue
                }
                finish([member], with: [.failure(named(error, of: member, wasCancelled: responseWait.isCancelling))])
                return true
            }
        }
    }

    private func execute(_ group: [PoolCore.Machine.Taken], on connection: Connection) -> GroupOutcome {
        var responseWait = responseWait(for: group)
        return execute(group, on: connection, responseWait: &responseWait)
    }

    private func execute(
        _ group: [PoolCore.Machine.Taken], on connection: Connection, responseWait: inout ResponseWait
    ) -> GroupOutcome {
        let members = group.map { GroupMember(statement: $0.payload.statement, parameters: $0.payload.parameters) }
        return connection.execute(members, responseWait: &responseWait) { core.shouldInterrupt(index) }
    }

    private func responseWait(for group: [PoolCore.Machine.Taken]) -> ResponseWait {
        let timeout = core.configuration.statementTimeout
        // The server's own time-out applies first. Beyond this limit, the network or the server's machine must be down.
        let longest = timeout > .zero ? timeout * min(group.count, 4) + .seconds(1) : nil
        return ResponseWait(
            sentAt: .now, deadline: group.lazy.map(\.deadline).min(), longest: longest,
            grace: core.configuration.cancelGrace)
    }

    // MARK: Results

    private mutating func finish(_ group: [PoolCore.Machine.Taken], with results: [Result<Rows, PostgresError>]) {
        let finished = core.finish(group.map(\.id), worker: index)
        let now = ContinuousClock.now
        for ((member, result), entry) in zip(zip(group, results), finished) {
            timers.record(member.payload.statement.name, duration: member.payload.submittedAt.duration(to: now))
            var answer = result
            if case .failure(var error) = result {
                if error.code == .deadlineExceeded, entry?.isCancelled == true { error.code = .cancelled }
                core.metrics.failed(member.payload.statement.name, with: error.code)
                answer = .failure(error)
            }
            entry?.waiter.resume(returning: answer)
        }
    }

    /// Handles the loss of the connection during a group. Statements that had no effect, or are idempotent, return to
    /// the queue.
    private mutating func lose(_ group: [PoolCore.Machine.Taken], after error: PostgresError, rolledBack: Bool) {
        if error.code == .configuration {
            finish(group, with: group.map { .failure(named(error, of: $0, wasCancelled: false)) })
            return
        }
        let (repeatable, doubtful) = (
            group.filter { rolledBack || $0.payload.statement.isIdempotent },
            group.filter { !rolledBack && !$0.payload.statement.isIdempotent }
        )
        finish(
            doubtful,
            with: doubtful.map {
                .failure(
                    PostgresError(
                        code: .fateUnknown, sqlState: error.sqlState, statement: $0.payload.statement.name,
                        serverDetail: error.serverDetail))
            })
        core.requeue(repeatable.map(\.id), worker: index)
    }

    /// Returns the server's error for the caller. A cancelled query exceeded its deadline; ``finish(_:with:)`` detects
    /// cancellation by the caller.
    private func named(_ error: PostgresError, of member: PoolCore.Machine.Taken, wasCancelled: Bool) -> PostgresError {
        var error = error
        error.statement = member.payload.statement.name
        if error.sqlState == SQLState.queryCancelled { error.code = .deadlineExceeded }
        return error
    }
}
