// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    /// Pushes to several users, as recorded for webhooks.
    @Suite struct PushTests {
        private func request(_ calls: CallsFixture) -> ProtoNotifyRequest {
            .with {
                $0.appID = Data(calls.app)
                $0.recipients = ["cleo", "ana", "ben", "ana"]
                $0.notification = #"{"text":"hello"}"#
                $0.overrides = "{}"
            }
        }

        /// Returns the number of users with a recorded push event.
        private func recorded(_ calls: CallsFixture) async throws -> Int64 {
            try await calls.number("SELECT count(*) FROM webhooks.event WHERE app_id = '\(calls.app)'")
        }

        @Test("badges are counted before the recording takes locks that block other writers")
        func countedFirst() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                try await calls.register()
                try await calls.users("ana", "ben", "cleo")
                try await calls.pushWebhook()
                try await calls.execute(
                    """
                    CREATE OR REPLACE FUNCTION conversations.unread_totals(p_app uuid, p_user text, OUT conversations bigint, OUT messages bigint)
                    LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
                    BEGIN
                        IF EXISTS (SELECT FROM webhooks.outbox) THEN RAISE EXCEPTION 'too late' USING ERRCODE = 'check_violation'; END IF;
                        conversations := 0;
                        messages := 3;
                    END
                    $$
                    """)
                _ = try await calls.call(UsersAPI.notify, request(calls))
                #expect(try await recorded(calls) == 3)
                #expect(
                    try await calls.number("SELECT count(*) FROM webhooks.event WHERE facts ->> 'badge' = '3'") == 3)
            }
        }

        @Test("a webhook that ends during recording does not refuse the push, since a retry would push twice")
        func endsMeanwhile() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana", "ben", "cleo")
                try await calls.pushWebhook()
                let (name, push) = (IdempotencyKey.random, request(calls))
                // Another transaction holds the lane of ben's pushes.
                let lane = "md5('push ' || '\(calls.app)'::uuid || ' ben')::uuid"
                _ = try await calls.holding(
                    "webhooks.lock_lanes('\(calls.app)', \(lane), '{Push}')",
                    meanwhile: {
                        try await calls.execute(
                            "UPDATE webhooks.hook SET status = 'inactive' WHERE app_id = '\(calls.app)'")
                    }
                ) { try await calls.named(name, UsersAPI.notify, push) }
                let before = try await recorded(calls)
                #expect(before >= 1)
                try await calls.execute("UPDATE webhooks.hook SET status = 'active' WHERE app_id = '\(calls.app)'")
                try await calls.named(name, UsersAPI.notify, push)
                #expect(try await recorded(calls) == before)
                try await calls.execute("DELETE FROM webhooks.hook WHERE app_id = '\(calls.app)'")
            }
        }
    }
}
