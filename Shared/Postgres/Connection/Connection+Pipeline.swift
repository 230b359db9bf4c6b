// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// The outcome of the statements between two syncs, which form one transaction.
enum GroupOutcome {
    /// Committed. A failure in the results belongs to a statement that could not be sent.
    case committed([Result<Rows, PostgresError>])
    /// The server refused a statement and rolled back all of them. The connection is usable.
    case refused(PostgresError)
    /// The connection is lost. If `rolledBack` is true, certainly nothing was committed.
    case lost(PostgresError, rolledBack: Bool)
}

/// A statement of a group, in the form that the connection needs.
struct GroupMember {
    let statement: Statement
    let parameters: EncodedParameters
}

extension Connection {
    private enum Command {
        case prepare(Int, serverName: String)
        case execute(Int, RowPlans)
    }

    /// Sends all members and one sync, and reads all results up to that sync, which confirms the commit.
    func execute(_ members: [GroupMember], responseWait: inout ResponseWait, interrupted: () -> Bool) -> GroupOutcome {
        guard isAlive() else {
            return .lost(PostgresError(code: .connectionUnavailable, serverDetail: lastMessage), rolledBack: true)
        }
        var results = [Result<Rows, PostgresError>?](repeating: nil, count: members.count)
        var commands: [Command] = []
        commands.reserveCapacity(members.count + 1)
        var preparing: [String: Prepared] = [:]
        for (index, member) in members.enumerated() {
            do throws(PostgresError) {
                try send(member, at: index, commands: &commands, preparing: &preparing)
            } catch {
                guard PQstatus(raw) == CONNECTION_OK else { return .lost(error, rolledBack: true) }
                results[index] = .failure(error)
            }
        }
        guard PQpipelineSync(raw) == 1 else {
            return .lost(PostgresError(code: .fateUnknown, serverDetail: lastMessage), rolledBack: false)
        }
        return receive(
            commands, results: &results, preparing: preparing, responseWait: &responseWait, interrupted: interrupted)
    }

    /// Discards a prepared statement, so that its next use prepares it again.
    func forget(_ statement: Statement) {
        prepared[statement.name] = nil
    }

    private func send(
        _ member: GroupMember, at index: Int, commands: inout [Command], preparing: inout [String: Prepared]
    ) throws(PostgresError) {
        let name = member.statement.name
        var entry = preparing[name] ?? prepared[name]
        if let entry, entry.sql != member.statement.sql {
            throw PostgresError(code: .configuration, statement: name, reason: "two SQL texts under one statement name")
        }
        if entry.map({ !member.parameters.fit($0.types) }) ?? true {
            let new = nextPrepared(member, known: entry?.types ?? [])
            let types = new.types.map { Oid($0) }
            guard !new.sql.utf8.contains(0), PQsendPrepare(raw, new.serverName, new.sql, Int32(types.count), types) == 1
            else {
                throw unsendable(name)
            }
            commands.append(.prepare(index, serverName: new.serverName))
            preparing[name] = new
            entry = new
        }
        guard let entry, sendExecute(entry.serverName, with: member.parameters) else { throw unsendable(name) }
        commands.append(.execute(index, entry.plans))
    }

    private func nextPrepared(_ member: GroupMember, known: [UInt32]) -> Prepared {
        preparedCount += 1
        return Prepared(
            sql: member.statement.sql, serverName: "s\(preparedCount)", types: member.parameters.types(known: known))
    }

    private func sendExecute(_ name: String, with parameters: EncodedParameters) -> Bool {
        let count = parameters.count
        return parameters.bytes.withUnsafeBytes { buffer in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: max(1, count)) { values in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: max(1, 2 * count)) { numbers in
                    EncodedParameters.forEach(in: buffer, count: count) { index, field in
                        values.initializeElement(at: index, to: field.start?.assumingMemoryBound(to: CChar.self))
                        numbers.initializeElement(at: index, to: field.length)
                        numbers.initializeElement(at: count + index, to: field.format)
                    }
                    guard let base = numbers.baseAddress else { return false }
                    return PQsendQueryPrepared(raw, name, Int32(count), values.baseAddress, base, base + count, 1) == 1
                }
            }
        }
    }

    private func unsendable(_ statement: String) -> PostgresError {
        PostgresError(
            code: .invalidParameter, statement: statement, reason: "the statement cannot be sent",
            serverDetail: lastMessage)
    }

    private func receive(
        _ commands: [Command], results: inout [Result<Rows, PostgresError>?], preparing: [String: Prepared],
        responseWait: inout ResponseWait, interrupted: () -> Bool
    ) -> GroupOutcome {
        var failure: PostgresError?
        var position = 0
        var separators = 0
        while true {
            guard awaitResult(&responseWait, interrupted: interrupted) else { return lost(failure) }
            guard let result = PQgetResult(raw) else {
                // One NULL separates two commands. A second one means that libpq expects no further result.
                separators += 1
                if separators > 1 || PQstatus(raw) != CONNECTION_OK { return lost(failure) }
                continue
            }
            separators = 0
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                return finish(failure, results: results, complete: position == commands.count)
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                let handle = ResultHandle(owning: result)
                guard position < commands.count else { return lost(failure) }
                switch commands[position] {
                case .prepare(_, let serverName): remember(serverName, among: preparing)
                case .execute(let index, let plans): results[index] = .success(Rows(handle, plans: plans))
                }
                position += 1
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
                position += 1
            default:
                let isStatementError = Self.isStatementError(result)
                let error = Self.error(from: result)
                PQclear(result)
                guard isStatementError else { return lost(failure, last: error) }
                failure = failure ?? error
                position += 1
            }
        }
    }

    private func remember(_ serverName: String, among preparing: [String: Prepared]) {
        guard let (name, entry) = preparing.first(where: { $0.value.serverName == serverName }) else { return }
        prepared[name] = entry
    }

    private func finish(
        _ failure: PostgresError?, results: [Result<Rows, PostgresError>?], complete: Bool
    ) -> GroupOutcome {
        // Any state but idle means that a statement opened a transaction. Its effects are not committed.
        guard PQtransactionStatus(raw) == PQTRANS_IDLE else {
            return .lost(
                PostgresError(code: .configuration, reason: "a statement left a transaction open"), rolledBack: true)
        }
        if let failure { return .refused(failure) }
        let answers = results.compactMap { $0 }
        guard complete, answers.count == results.count else { return lost(nil) }
        return .committed(answers)
    }

    /// Returns the outcome of a lost connection. After the server has reported an error in a group, that group is
    /// certainly rolled back.
    private func lost(_ failure: PostgresError?, last: PostgresError? = nil) -> GroupOutcome {
        .lost(
            PostgresError(
                code: .fateUnknown, sqlState: last?.sqlState, serverDetail: last?.serverDetail ?? lastMessage),
            rolledBack: failure != nil)
    }
}
