// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import TestSupport
import Testing

@testable import StrataCommand

/// An example of every query of the command, with a value for each parameter.
enum Queries {
    private static let app = UUID()

    static let all: [QueryCheck] =
        [
            QueryCheck(
                InsertApp(
                    app: app, name: "App", provider: UUID(), key: UUID(), publicKey: "k", serverToken: UUID(),
                    serverTokenDigest: [1])),
            QueryCheck(ListApps()),
            QueryCheck(SuspendApp(app: app, isSuspended: true)), QueryCheck(ReadAppExtent(app: app)),
            QueryCheck(BeginAppDeletion(app: app)),
            QueryCheck(ReadAppDeletionAge(app: app)), QueryCheck(ListAppDeletionParts()),
            QueryCheck(DeleteAppRows(app: app, part: "messages", block: 0)), QueryCheck(EndAppDeletion(app: app)),
            QueryCheck(InsertServerToken(app: app, id: UUID(), name: "bot", digest: [1])),
            QueryCheck(ListServerTokens(app: app)),
            QueryCheck(RevokeServerToken(id: UUID(), endsWebhooks: true)),
            QueryCheck(AddAppIndex(app: app, path: "status", most: 1)),
            QueryCheck(ListAppIndexes(app: app)), QueryCheck(RemoveAppIndex(app: app, path: "status")),
            QueryCheck(CreateOperator(name: "ana", passwordHash: "hash", role: "viewer")), QueryCheck(ListOperators()),
            QueryCheck(DisableOperator(name: "ana")), QueryCheck(EnableOperator(name: "ana", role: "viewer")),
            QueryCheck(SetOperatorPassword(name: "ana", passwordHash: "hash")),
            QueryCheck(CreateSignInLink(name: "ana", digest: [1], seconds: 600)),
            QueryCheck(ListAppWebhooks(app: app)), QueryCheck(RemoveAppWebhook(app: app, id: UUID())),
            QueryCheck(ReadDatabaseSize()), QueryCheck(ReadDatabaseIdentity()),
            QueryCheck(NameDatabase(name: "main", number: 1)),
        ] + moves

    private static let moves: [QueryCheck] = [
        QueryCheck(LockMove(app: app)), QueryCheck(ReadMoveState(app: app)), QueryCheck(ReadMoveShape()),
        QueryCheck(ReadMoveFacts(app: app)), QueryCheck(ListMoveTables()),
        QueryCheck(BeginTracking(app: app, table: "conversations.app", key: "id")),
        QueryCheck(EndTracking(app: app, table: "conversations.app")),
        QueryCheck(BeginMove(app: app, target: "second")),
        QueryCheck(ExpectApp(app: app, source: "main", epoch: "e")), QueryCheck(NoteMoveParts(app: app)),
        QueryCheck(ListMoveParts(app: app)),
        QueryCheck(ExportPart(app: app, relation: "conversations.app", limit: 1, bytes: 1)),
        QueryCheck(MovePartCopied(app: app, relation: "conversations.app", next: "(0,1)", file: 1)),
        QueryCheck(ExportChanges(app: app, limit: 1)),
        QueryCheck(ChangesCopied(app: app, numbers: [1], most: 1)),
        QueryCheck(ImportRows(app: app, root: "conversations.app", keys: "[]", rows: "[]")),
        QueryCheck(SetMoveState(app: app, state: "paused")), QueryCheck(ExportNonces(after: [1], limit: 1)),
        QueryCheck(
            ReceiveApp(
                app: app,
                facts: MoveFacts(
                    epoch: "e", logBegin: "-infinity", clock: PostgresTimestamp(microseconds: 0), delivery: 1, number: 1
                ))),
        QueryCheck(CleanMove(app: app, relation: "conversations.app", key: "id", block: 0)),
        QueryCheck(EndMove(app: app)), QueryCheck(RefuseApp(app: app)),
        QueryCheck(LeaveApp(app: app, target: "second")),
    ]
}

/// Compares the parameters and columns of every query with those that the server describes.
@Suite struct ColumnTests {
    @Test(
        "every statement has exactly the parameters it is given and returns exactly the columns that are read, with their types"
    )
    func described() async throws {
        let differences = try await QueryCheck.differences(Queries.all)
        #expect(differences == [])
    }
}
