// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the call by which the console reads reports. A report is about one app, one database, or all databases.
///
/// Reports use the connections for large metadata, so that users' requests do not wait for them.
struct ReportHandler: CallHandler {
    private let databases: Databases<Database>
    private let retention: Retention

    /// The maximum duration of a report's statement.
    private static let patience = Duration.seconds(5)

    init(_ databases: Databases<Database>, retention: Retention) {
        self.databases = databases
        self.retention = retention
    }

    /// Creates a handler for a single database.
    init(database: Database, retention: Retention) {
        self.init(Databases([(name: .main, part: database)], directory: nil), retention: retention)
    }

    func register(on router: inout CallRouter) {
        router.register(AdminAPI.readReport) { try await self.read($0, in: $1) }
    }

    private func read(_ request: ProtoReadReportRequest, in context: RPCContext) async throws -> ProtoReport {
        let query = try query(request)
        let deadline = min(context.deadline, .now + Self.patience)
        let document: String
        switch query.report {
        case .databases: document = await states(query, deadline: deadline)
        case .apps: document = try await apps(query, deadline: deadline)
        case .space: document = try await read(query, from: databases.member(named: request.database), until: deadline)
        default:
            let app = try AppID(contract: request.appID)
            document = try await read(query, from: databases.member(of: app, deadline: deadline), until: deadline)
        }
        return .with { $0.json = Data(document.utf8) }
    }

    private func read(
        _ query: ReadReport, from database: Databases<Database>.Member, until deadline: ContinuousClock.Instant
    ) async throws -> String {
        let rows: [ReadReport.Row]
        do {
            rows = try await database.part.large.query(query, deadline: deadline)
        } catch {
            throw error.refusal
        }
        guard let document = rows.first?.document else { throw Failure.notFound("\(query.report)") }
        return document
    }

    /// Returns an array with the state of each database. One that does not answer has its name alone.
    private func states(_ query: ReadReport, deadline: ContinuousClock.Instant) async -> String {
        var states: [String] = []
        for database in databases.all {
            let state = try? await read(query, from: database, until: deadline)
            states.append(state ?? #"{"name":"\#(database.name)"}"#)
        }
        return "[\(states.joined(separator: ","))]"
    }

    /// Returns a page of the apps of all databases, in the order of the databases. A database that does not answer is
    /// left out, unless it is the only one.
    private func apps(_ query: ReadReport, deadline: ContinuousClock.Instant) async throws -> String {
        guard databases.directory != nil else { return try await read(query, from: databases.all[0], until: deadline) }
        var (query, pages) = (query, [String]())
        var first = 0
        if let app = UUID(uuidString: query.after) {
            first = try await databases.index(of: AppID(rawValue: app), deadline: deadline) ?? 0
        }
        for database in databases.all[first...] where query.limit > 0 {
            if let page = try? await read(query, from: database, until: deadline) {
                let count = try JSONDecoder().decode([AnyItem].self, from: Data(page.utf8)).count
                query.limit -= Int64(count)
                if count > 0 { pages.append(String(page.dropFirst().dropLast())) }
            }
            query.after = ""
        }
        return "[\(pages.joined(separator: ","))]"
    }

    /// An item of an array that is only counted.
    private struct AnyItem: Decodable {
        init(from decoder: any Decoder) throws {}
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
