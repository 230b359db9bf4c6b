// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Hummingbird
import Logging
import Postgres
import StrataModel

/// A change by an operator, with its entry in the audit log.
struct AuditedChange: Sendable {
    /// The action, for example `app_create`.
    let action: String
    /// The app that the change is about; nil: none.
    var app: AppID?
    /// The object that the change is about, for example the id of a user.
    var target = ""
    /// Further facts. They never contain secrets, nor content of users.
    var detail: [String: String] = [:]
    /// Carries the change out.
    let perform: @Sendable () async throws -> Response
}

/// The record of all changes that operators make. A change is recorded before it is carried out, so that none goes
/// unrecorded; its outcome is added afterwards.
struct AuditLog: Sendable {
    let pool: PostgresPool
    let logger: Logger

    /// Records a change and carries it out.
    /// - Throws: an error if it could not be recorded. It is not carried out then.
    func carryOut(_ change: AuditedChange, in context: OperatorContext) async throws -> Response {
        let entry: RecordChange.Row?
        do {
            let query = RecordChange(name: context.session.name, address: context.address, change: change)
            entry = try await pool.query(query, deadline: .now + .seconds(5)).first
        } catch {
            throw error.refusal
        }
        guard let entry else { throw Failure.unexpected }
        do {
            let response = try await change.perform()
            await finish(entry.id, status: response.status.code)
            return response
        } catch {
            await finish(entry.id, status: Refusal(error).status.code)
            throw error
        }
    }

    private func finish(_ entry: Int64, status: Int) async {
        let query = FinishChange(id: entry, outcome: (200..<400).contains(status) ? "ok" : "\(status)")
        do {
            _ = try await pool.query(query, deadline: .now + .seconds(5))
        } catch {
            logger.error(
                "outcome of a change cannot be recorded",
                metadata: ["audit.id": "\(entry)", "error.code": "\(error.code)"])
        }
    }

    /// Returns a page of entries as JSON, newest first: those with lower ids than `before`.
    func page(before: Int, limit: Int) async throws -> String {
        do {
            let query = ListAudit(before: Int64(before), limit: Int64(limit))
            guard let row = try await pool.query(query, deadline: .now + .seconds(5)).first else {
                throw Failure.unexpected
            }
            return row.json
        } catch let error as PostgresError {
            throw error.refusal
        }
    }
}
