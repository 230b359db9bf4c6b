// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import StrataModel
import TestSupport
import Testing

@testable import Webhooks

/// An example of every query of the service, with a value for each parameter.
private enum Queries {
    private static let (app, id) = (AppID(rawValue: UUID()), WebhookID.random())
    private static let webhook = Webhook(
        id: id, app: app, version: .v3, targetURL: "https://example.org/", events: ["Message.created"], config: [:],
        status: .unverified,
        statusReason: nil, createdAt: StrataModel.Timestamp(microseconds: 0))

    static let all: [QueryCheck] = [
        QueryCheck(
            CreateHook(
                webhook: webhook, sealedSecret: [1], kinds: [.messageCreated], config: "{}", limit: 1, lease: 1,
                token: UUID())),
        QueryCheck(ReadHooks(app: app, id: id)), QueryCheck(ReadActiveHooks()),
        QueryCheck(BeginActivation(app: app, id: id, lease: 1)), QueryCheck(FindPendingHooks()),
        QueryCheck(ClaimVerifications(limit: 1, lease: 1)), QueryCheck(EndVerification(id: id, reason: "r", delay: 1)),
        QueryCheck(SettleHooks(delay: 1)), QueryCheck(ResetLanes(limit: 1)),
        QueryCheck(DeactivateHook(app: app, id: id, reason: "r")),
        QueryCheck(GiveUpHook(id: id, reason: "r", verifiedAt: StrataModel.Timestamp(microseconds: 0))),
        QueryCheck(DeleteHook(app: app, id: id)),
        QueryCheck(ClaimLanes(hooks: [UUID()], limits: [1], total: 1, claim: UUID(), lease: 1)),
        QueryCheck(ReadLanes(hooks: [UUID()], lanes: [UUID()], events: 1, bytes: 1)),
        QueryCheck(FinishLanes(claim: UUID(), results: [LaneResult(hook: id, lane: UUID())])),
        QueryCheck(KeepDeliveries(attempts: "[]", keep: 1)),
        QueryCheck(ReadDeliveries(app: app, id: id, limit: 1)),
        QueryCheck(RedeliverEvent(app: app, id: id, event: UUID(), limit: 1)),
        QueryCheck(SweepHooks(keep: 1, limit: 1, after: UUID())), QueryCheck(ReadBacklog()),
        QueryCheck(
            CompleteEvent(
                event: RecordedEvent(
                    row: 1, app: app, position: 1, number: 0, kind: "Push", id: UUID(),
                    createdAt: StrataModel.Timestamp(microseconds: 0),
                    subject: UUID(), facts: "{}", parts: nil), bytes: 1)),
        QueryCheck(CollectEvents(events: [1])), QueryCheck(SweepEvents(limit: 1, after: 1)), QueryCheck(ReadWaiting()),
        QueryCheck(EndRecording(id: id, reason: "r")), QueryCheck(DiscardBacklog(id: id)), QueryCheck(EndSuspended()),
    ]
}

/// Compares the parameters and columns of every query with those that the server describes.
@Suite("statements of webhooks") struct ColumnTests {
    @Test(
        "every statement has exactly the parameters it is given and returns exactly the columns that are read, with their types"
    )
    func described() async throws {
        let differences = try await QueryCheck.differences(Queries.all)
        #expect(differences == [])
    }
}

/// During an upgrade, instances of the previous release run on the new schema.
@Suite struct PreviousReleaseTests {
    @Test("the statements of the previous release return their columns on the present schema")
    func unchanged() async throws {
        let previous = PreviousRelease(
            "webhooks", statements: Queries.all.flatMap(\.statements), sources: ["Services/Webhooks"],
            role: "strata_webhooks")
        #expect(try previous.unlisted() == [])
        #expect(try await previous.differences() == [])
    }
}
