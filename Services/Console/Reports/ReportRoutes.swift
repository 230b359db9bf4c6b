// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Hummingbird
import NIOCore
import RPC
import StrataModel
import SwiftProtobuf

/// The reports of the conversations service: JSON documents, each made by one function of a database.
struct Reports: Sendable {
    let conversations: RPCClient

    /// Returns a report.
    /// - Throws: the failure of the service, or of the call.
    func read(
        _ name: String, app: AppID? = nil, user: String = "", conversation: ConversationID? = nil, after: String = "",
        limit: Int = 0, database: String = ""
    ) async throws(Failure) -> ByteBuffer {
        let request = ProtoReadReportRequest.with {
            $0.name = name
            if let app { $0.appID = Data(app) }
            $0.userID = user
            if let conversation { $0.conversationID = Data(conversation) }
            $0.after = after
            $0.limit = UInt32(limit)
            $0.database = database
        }
        let report = try await conversations.call(AdminAPI.readReport, with: request, for: .within(.seconds(10)))
        return ByteBuffer(bytes: report.json)
    }
}

struct ReportRoutes: ConsoleFeature {
    let reports: Reports

    func add(to routes: ConsoleRoutes) {
        routes.get("/api/reports/:name") { request, context in
            let json = try await reports.read(
                context.parameters.get("name") ?? "", app: try request.id("app"),
                user: request.parameter("user") ?? "", conversation: try request.id("conversation"),
                after: request.parameter("after") ?? "", limit: try request.number("limit", in: 0...500, default: 0),
                database: request.parameter("database") ?? "")
            return .json(text: json)
        }
    }
}
