// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the call by which the console reads reports.
///
/// Reports use the connections for large metadata, so that users' requests do not wait for them.
struct ReportHandler: CallHandler {
    private let database: Database
    private let retention: Retention

    /// The maximum duration of a report's statement.
    private static let patience = Duration.seconds(5)

    init(database: Database, retention: Retention) {
        self.database = database
        self.retention = retention
    }

    func register(on router: inout CallRouter) {
        router.register(AdminAPI.readReport) { try await self.read($0, in: $1) }
    }

    private func read(_ request: ProtoReadReportRequest, in context: RPCContext) async throws -> ProtoReport {
        let query = try query(request)
        let deadline = min(context.deadline, .now + Self.patience)
        let rows: [ReadReport.Row]
        do {
            rows = try await database.large.query(query, deadline: deadline)
        } catch {
            throw error.refusal
        }
        guard let document = rows.first?.document else { throw Failure.notFound("\(query.report)") }
        return .with { $0.json = Data(document.utf8) }
    }

    private func query(_ request: ProtoReadReportRequest) throws -> ReadReport {
        guard let report = Report(rawValue: request.name) else {
            throw Failure.invalid("name", reason: "is not the name of a report")
        }
        var query = ReadReport(
            report: report, service: String(decoding: try JSONEncoder().encode(retention), as: UTF8.self))
        if report.needsApp {
            guard !request.appID.isEmpty else { throw Failure.missing("app_id") }
            query.app = try AppID(contract: request.appID).rawValue
        }
        if report.needsConversation {
            guard !request.conversationID.isEmpty else { throw Failure.missing("conversation_id") }
            query.conversation = try ConversationID(contract: request.conversationID).rawValue
        }
        if report == .user || report == .users {
            guard report == .users || !request.userID.isEmpty else { throw Failure.missing("user_id") }
            guard request.userID.isEmpty || UserID(request.userID) != nil else {
                throw Failure.invalid("user_id", reason: "is not a user id")
            }
            query.user = request.userID
        }
        guard request.after.isEmpty || report.isCursor(request.after) else {
            throw Failure.invalid("after", reason: "is not the end of a page of this report")
        }
        guard request.limit <= report.maximumLimit else {
            throw Failure.invalid("limit", reason: "must be 1 to \(report.maximumLimit)")
        }
        query.after = request.after
        if request.limit > 0 { query.limit = Int64(request.limit) }
        return query
    }
}
