// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Webhooks, from their registration to the requests that receivers get.
    @Suite("webhooks", .serialized)
    struct WebhookTests {
        @Test(
            "webhooks are administered, receive every event in every version, signed, are redelivered manually, and survive failing receivers",
            .timeLimit(.minutes(5)), .long)
        func everything() async throws {
            try await WebhookScene.with { scene in
                try await administration(scene)
                // While an app has an active webhook, its further ones become active at once.
                _ = try await scene.active("/standing", events: ["Channel.created"])
                try await events(scene)
                try await firstVersion(scene)
                try await later(scene)
                try await receivers(scene)
                try await givingUp(scene)
                try await refusals(scene)
            }
        }

        // MARK: Administration

        private func administration(_ scene: WebhookScene) async throws {
            let id = try await scene.register("/admin")
            let webhook = try await scene.reach("active", id)
            #expect(webhook["id"].string == "layer:///apps/\(scene.server.appID)/webhooks/\(id)")
            #expect(webhook["secret"] == .null)
            #expect(webhook["status_reason"] == .null)
            #expect(webhook["config"]["place"].string == "test")
            #expect(webhook["events"] == WebhookScene.allEvents)
            #expect(scene.receiver.challenges(at: "/admin") == 1)
            let list = try await scene.call("GET", "")
            #expect(list.json.array?.count == 1)
            #expect(list.header("Layer-Count") == "1")
            let deactivated = try await scene.call("POST", "/\(id)/deactivate")
            #expect(deactivated.json["status"].string == "inactive")
            #expect(deactivated.json["status_reason"].string != nil)
            #expect(try await scene.call("POST", "/\(id)/activate").status == 200)
            try await scene.reach("active", id)
            #expect(scene.receiver.challenges(at: "/admin") == 2)
            let other = AppServer(try await scene.cluster.app())
            #expect(try await other.call("GET", "/webhooks/\(id)").status == 404)
            #expect(try await scene.call("DELETE", "/\(id)").status == 204)
            #expect(try await scene.call("GET", "/\(id)").status == 404)

            scene.receiver.set(.wrongChallenge, for: "/wrong")
            let wrong = try await scene.reach("inactive", try await scene.register("/wrong"))
            #expect(wrong["status_reason"].string == "Verification failed because the answer is not the challenge.")
            scene.receiver.set(.answer(302, location: scene.receiver.url("/elsewhere")), for: "/moved")
            let moved = try await scene.reach("inactive", try await scene.register("/moved"))
            #expect(moved["status_reason"].string == "Verification failed due to unexpected response status: 302 Found")
            #expect(scene.receiver.challenges(at: "/elsewhere") == 0)
            for host in ["10.0.0.1", "192.168.1.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "0.0.0.0"] {
                let refused = try await scene.reach(
                    "inactive",
                    try await scene.register("/private", url: "http://\(host):\(scene.receiver.port)/private"))
                #expect(refused["status_reason"].string?.contains("is not called") == true, "\(host): \(refused)")
            }
            for webhook in try await scene.call("GET", "").json.array ?? [] {
                let id = try #require(webhook["url"].string.flatMap { URL(string: $0)?.lastPathComponent })
                #expect(try await scene.call("DELETE", "/\(id)").status == 204)
            }
        }

        // MARK: Events

        private func events(_ scene: WebhookScene) async throws {
            let id = try await scene.active("/events")
            let (ana, ben) = (try await scene.server.app.signIn("ana"), try await scene.server.app.signIn("ben"))
            let conversation = try await ana.converse(with: [ben], metadata: ["a": ["b": "c"]])
            let message = try await ana.send("hello", to: conversation)
            // An event shows objects as they are at its delivery, so each change waits until earlier events are
            // delivered.
            func delivered(_ count: Int) async throws {
                _ = try await scene.receiver.events(at: "/events", repeated: false) { $0.count >= count }
            }
            try await delivered(2)
            try await ben.does("POST", layerPath(message) + "/receipts", ["type": "read"])
            try await ana.does("POST", layerPath(message) + "/parts", ["mime_type": "text/plain", "body": "more"])
            try await ana.patch(conversation, set("metadata.x", "y"))
            let carl = try await scene.server.app.signIn("carl")
            try await delivered(6)
            try await ana.patch(conversation, add(carl))
            try await delivered(7)
            try await ana.does("DELETE", layerPath(message) + "?mode=all_participants")
            try await delivered(8)
            try await ana.does("DELETE", layerPath(conversation.id) + "?mode=all_participants")
            let events = try await scene.receiver.events(at: "/events", repeated: false) {
                $0.last?.type == "Conversation.deleted"
            }
            #expect(
                events.map(\.type) == [
                    "Conversation.created", "Message.created", "Receipt.created", "MessagePart.created",
                    "Message.updated", "Conversation.updated",
                    "Participation.created", "Message.deleted", "Conversation.deleted",
                ])
            let base = "https://chat.test/apps/\(scene.server.appID)"
            for event in events {
                #expect(event.headers["layer-webhook-event-type"] == event.type)
                #expect(event.headers["layer-webhook-request-id"] == event.id)
                #expect(event.headers["layer-webhook-id"] == "layer:///apps/\(scene.server.appID)/webhooks/\(id)")
                #expect(event.headers["user-agent"] == "layer-webhooks/3.0")
                #expect(event.headers["content-type"] == "application/vnd.layer.webhooks+json; version=3.0")
                let code = HMAC<Insecure.SHA1>
                    .authenticationCode(for: event.body, using: SymmetricKey(data: Data(WebhookScene.secret.utf8)))
                #expect(event.headers["layer-webhook-signature"] == code.map { String(format: "%02x", $0) }.joined())
                #expect(event.json["config"]["place"].string == "test")
            }
            let created = events[0].json["conversation"]
            #expect(created["id"].string == conversation.id)
            #expect(created["url"].string == base + layerPath(conversation.id))
            #expect(created["metadata"]["a"]["b"].string == "c")
            #expect(created["participants"].array?.count == 2)
            #expect(events[0].id == conversation.id.split(separator: "/").last.map(String.init))
            let sent = events[1].json["message"]
            #expect(sent["id"].string == message)
            #expect(events[1].id == message.split(separator: "/").last.map(String.init))
            #expect(sent["parts"][0]["body"].string == "hello")
            #expect(sent["sender"]["user_id"].string == "ana")
            #expect(events[1].json["actor"]["user_id"].string == "ana")
            #expect(sent["recipient_status"]["layer:///identities/ben"].string == "sent")
            let position = try #require(sent["position"].int)
            let receipt = events[2].json
            #expect(receipt["receipt"]["type"].string == "Read")
            #expect(
                receipt["receipt"]["positions"] == ["from": .integer(Int64(position)), "to": .integer(Int64(position))])
            #expect(receipt["actor"]["user_id"].string == "ben")
            #expect(events[3].json["part"]["body"].string == "more")
            #expect(events[5].json["changes"] == [["operation": "set", "property": "metadata.x", "value": "y"]])
            #expect(events[5].json["conversation"]["metadata"]["x"].string == "y")
            #expect(events[6].json["changes"] == [["id": "layer:///identities/carl"]])
            #expect(events[7].json["message"]["position"].int == position)
            #expect(events[7].json["message"]["recipient_status"]["layer:///identities/ben"].string == "read")

            // Deliveries are listed and can be repeated with the same event id.
            let eventID = try #require(events[1].id)
            try await eventually("its delivery is listed") {
                let listed = try await scene.call("GET", "/\(id)/deliveries").json.array ?? []
                return listed.contains {
                    $0["event_id"].string == eventID && $0["delivered"].bool == true && $0["response_status"].int == 200
                }
            }
            let before = scene.receiver.events(at: "/events").count
            #expect(try await scene.call("POST", "/\(id)/deliveries/\(eventID)/redeliver").status == 202)
            let again = try await scene.receiver.events(at: "/events") {
                $0.dropFirst(before).contains { $0.id == eventID }
            }
            #expect(again.dropFirst(before).first { $0.id == eventID }?.body == events[1].body)
            #expect(try await scene.call("POST", "/\(id)/deliveries/\(UUID().uuidString)/redeliver").status == 404)
            // A change by the app's own server has no actor.
            let own = try await scene.server.call(
                "POST", "/conversations",
                ["participants": [.string(ana.identity), .string(ben.identity)], "distinct": false])
            #expect(own.isSuccess)
            let later = try await scene.receiver.events(at: "/events", repeated: false) { $0.count > events.count }
            #expect(later.last?.type == "Conversation.created")
            #expect(later.last?.json["actor"] == .null)
            #expect(try await scene.call("DELETE", "/\(id)").status == 204)
        }

        private func firstVersion(_ scene: WebhookScene) async throws {
            let names: JSONValue = [
                "message.sent", "message.delivered", "message.read", "message.deleted", "conversation.created",
                "conversation.updated.participants",
                "conversation.updated.metadata", "conversation.deleted",
            ]
            let id = try await scene.active("/first", version: "1.0", events: names)
            let (ana, ben) = (try await scene.server.app.signIn("dora"), try await scene.server.app.signIn("emil"))
            let conversation = try await ana.converse(with: [ben], metadata: ["a": "b"])
            let first = try await ana.send("one", to: conversation)
            _ = try await ana.send("two", to: conversation)
            func delivered(_ count: Int) async throws {
                _ = try await scene.receiver.events(at: "/first", repeated: false) { $0.count >= count }
            }
            try await delivered(3)
            try await ben.does("POST", layerPath(first) + "/receipts", ["type": "delivery"])
            try await delivered(4)
            try await ben.does("POST", layerPath(conversation.id) + "/mark_all_read")
            try await ana.patch(conversation, set("metadata.x", "y"))
            try await delivered(7)
            try await ana.patch(conversation, remove(ben))
            try await delivered(8)
            try await ana.does("DELETE", layerPath(first) + "?mode=all_participants")
            try await delivered(9)
            try await ana.does("DELETE", layerPath(conversation.id) + "?mode=all_participants")
            let events = try await scene.receiver.events(at: "/first", repeated: false) {
                $0.last?.type == "conversation.deleted"
            }
            #expect(
                events.map(\.type) == [
                    "conversation.created", "message.sent", "message.sent", "message.delivered", "message.read",
                    "message.read",
                    "conversation.updated.metadata", "conversation.updated.participants", "message.deleted",
                    "conversation.deleted",
                ])
            #expect(events[0].json["conversation"]["participants"] == ["dora", "emil"])
            #expect(events[0].json["event"]["actor"] == ["user_id": "dora"])
            #expect(events[1].json["message"]["sender"]["user_id"].string == "dora")
            #expect(events[3].json["event"]["actor"] == ["user_id": "emil"])
            #expect(events[3].json["message"]["recipient_status"]["emil"].string == "delivered")
            #expect(events[5].json["message"]["recipient_status"]["emil"].string == "read")
            #expect(events[7].json["conversation"]["participants"] == ["dora"])
            #expect(try await scene.call("DELETE", "/\(id)").status == 204)
        }

        /// Expects webhook events for background work of other instances: delayed messages, notifications, and objects
        /// removed by an erasure.
        private func later(_ scene: WebhookScene) async throws {
            let id = try await scene.active("/later", events: ["Message.created", "Message.updated", "Push"])
            let (ana, ben) = (try await scene.server.app.signIn("jan"), try await scene.server.app.signIn("kim"))
            let conversation = try await ana.converse(with: [ben], distinct: false)
            let path = layerPath(conversation.id)
            let sent = String(try await ana.send("mine", to: conversation).split(separator: "/").last ?? "")
            let delayed = try await scene.server.call(
                "POST", "\(path)/messages",
                [
                    "sender_id": .string(ben.identity), "parts": [["mime_type": "text/plain", "body": "later"]],
                    "schedule": ["delay_in_seconds": 1],
                ])
            #expect(delayed.status == 202, "\(delayed.json)")
            let came = try await scene.receiver.events(at: "/later", repeated: false) { $0.count == 2 }
            #expect(came[0].id == sent)
            #expect(came[1].json["message"]["parts"][0]["body"].string == "later")
            let pushed = try await scene.server.call(
                "POST", "/notifications", ["recipients": [.string(ben.identity)], "notification": ["text": "Look"]])
            #expect(pushed.isSuccess, "\(pushed.status) \(pushed.json)")
            let push = try await scene.receiver.events(at: "/later") { $0.contains { $0.type == "Push" } }
                .first { $0.type == "Push" }
            #expect(push?.json["push"]["recipient"]["user_id"].string == "kim")
            #expect(push?.json["push"]["notification"]["text"].string == "Look")
            #expect(try await scene.server.call("DELETE", "/users/jan").isSuccess)
            let erased = try await scene.receiver.events(at: "/later") { $0.contains { $0.type == "Message.updated" } }
                .last
            #expect(erased?.json["message"]["parts"].array?.isEmpty == true)
            #expect(erased?.json["message"]["id"].string?.hasSuffix(sent) == true)
            #expect(try await scene.call("DELETE", "/\(id)").status == 204)
        }

        // MARK: Receivers

        /// Expects that a bad receiver delays no other one and is retried. A failed event delays its own conversation
        /// only.
        private func receivers(_ scene: WebhookScene) async throws {
            let bad: [(String, WebhookReceiver.Behaviour)] = [
                ("/hangs", .hang), ("/500", .answer(500)), ("/closes", .close),
                ("/redirects", .answer(302, location: "http://10.0.0.1/")),
            ]
            let events: JSONValue = ["Message.created"]
            for path in bad.map({ $0.0 }) + ["/slow", "/endless", "/good"] {
                _ = try await scene.active(path, events: events)
            }
            for (path, behaviour) in bad { scene.receiver.set(behaviour, for: path) }
            scene.receiver.set(.slow(.milliseconds(300)), for: "/slow")
            scene.receiver.set(.endlessBody, for: "/endless")
            let (ana, ben) = (try await scene.server.app.signIn("fay"), try await scene.server.app.signIn("gus"))
            let (one, other) = (
                try await ana.converse(with: [ben], distinct: false),
                try await ana.converse(with: [ben], distinct: false)
            )
            var (first, second): ([String], [String]) = ([], [])
            for number in 0..<4 {
                first.append(String(try await ana.send("\(number)", to: one).split(separator: "/").last ?? ""))
                second.append(String(try await ana.send("\(number)", to: other).split(separator: "/").last ?? ""))
            }
            for path in ["/good", "/slow", "/endless"] {
                let came = try await scene.receiver.events(at: path, repeated: false) { $0.count == 8 }
                #expect(came.compactMap(\.id).filter(first.contains) == first, "\(path)")
                #expect(came.compactMap(\.id).filter(second.contains) == second, "\(path)")
            }
            for (path, _) in bad {
                // The first event of each conversation is retried with the same id. No later event overtakes it.
                let came = try await scene.receiver.events(at: path) { $0.count(where: { $0.id == first[0] }) >= 2 }
                #expect(Set(came.compactMap(\.id)).isSubset(of: [first[0], second[0]]), "\(path)")
            }
        }

        /// Expects a webhook to become inactive after the last retry, with a reason. After its activation the pending
        /// events are delivered.
        private func givingUp(_ scene: WebhookScene) async throws {
            scene.receiver.set(.answer(503), for: "/dies")
            let id = try await scene.active("/dies", events: ["Message.created"])
            let (ana, ben) = (try await scene.server.app.signIn("hal"), try await scene.server.app.signIn("ida"))
            let conversation = try await ana.converse(with: [ben], distinct: false)
            var sent: [String] = []
            for number in 0..<3 {
                sent.append(String(try await ana.send("\(number)", to: conversation).split(separator: "/").last ?? ""))
            }
            let inactive = try await scene.reach("inactive", id)
            let reason = try #require(inactive["status_reason"].string)
            #expect(reason.contains("Message.created \(sent[0]) failed 5 times"), "\(reason)")
            #expect(reason.contains("unexpected response status: 503"))
            // While the webhook is inactive, no events are recorded.
            _ = try await ana.send("while it is inactive", to: conversation)
            scene.receiver.set(.accept, for: "/dies")
            let before = scene.receiver.events(at: "/dies").count
            #expect(try await scene.call("POST", "/\(id)/activate").status == 200)
            try await scene.reach("active", id)
            let after = String(try await ana.send("after", to: conversation).split(separator: "/").last ?? "")
            let came = try await scene.receiver.events(at: "/dies") { $0.last?.id == after }
            #expect(came.dropFirst(before).compactMap(\.id) == sent + [after])
            try await eventually("each instance has written down what it did") {
                let deliveries = try await scene.call("GET", "/\(id)/deliveries").json.array ?? []
                let failed = deliveries.filter { $0["event_id"].string == sent[0] && $0["delivered"].bool == false }
                #expect(failed.allSatisfy { $0["response_status"].int == 503 })
                return Set(failed.compactMap { $0["attempt"].int }) == [1, 2, 3, 4, 5]
            }
        }

        // MARK: Input

        private func refusals(_ scene: WebhookScene) async throws {
            let good: [String: JSONValue] = [
                "version": "3.0", "target_url": "https://example.org/hook", "events": ["Message.created"],
                "secret": .string(WebhookScene.secret),
            ]
            for missing in good.keys.sorted() {
                let answer = try await scene.call("POST", "", .object(good.filter { $0.key != missing }))
                #expect(
                    answer.status == 422 && answer.json["id"].string == "missing_property"
                        && answer.json["data"]["property"].string == missing)
            }
            let bad: [(String, JSONValue, String)] = [
                ("version", "4.0", "version"), ("target_url", "ftp://example.org", "target_url"),
                ("target_url", "https://", "target_url"),
                ("target_url", "https://ana@example.org/", "target_url"),
                ("events", [], "events"), ("events", ["Message.created", "message.sent"], "events.1"),
                ("events", [1], "events.0"),
                ("secret", "", "secret"), ("secret", "fifteen bytes .", "secret"),
                ("secret", .string(String(repeating: "x", count: 1025)), "secret"),
                ("config", ["a": 1], "config"),
            ]
            for (name, value, property) in bad {
                let answer = try await scene.call("POST", "", .object(good.merging([name: value]) { $1 }))
                #expect(
                    answer.status == 422 && answer.json["data"]["property"].string == property,
                    "\(name) \(value): \(answer.status) \(answer.json)")
            }
            let older = good.merging(["event_types": ["Message.created"], "target_config": ["a": "b"], "events": .null])
            { $1 }
            let answer = try await scene.call("POST", "", .object(older))
            #expect(answer.status == 201 && answer.json["config"]["a"].string == "b")
            let wrongType = try await scene.server.call(
                "GET", "/conversations/\(UUID())",
                headers: ["Accept": "application/vnd.layer.webhooks+json; version=3.0"])
            #expect(wrongType.status == 406)
        }

        @Test(
            "a repeatedly refused event delays its own conversation, but neither other conversations nor other apps",
            .timeLimit(.minutes(3)),
            .long)
        func heldBack() async throws {
            var size = WebhookScene.size
            size.settings["STRATA_WEBHOOKS_RETRY_FOR"] = "1h"
            try await WebhookScene.with(size) { scene in
                let events: JSONValue = ["Message.created"]
                let neighbour = WebhookScene(
                    cluster: scene.cluster, receiver: scene.receiver, server: AppServer(try await scene.cluster.app()))
                async let neighbours = neighbour.active("/neighbour", events: events)
                _ = try await (scene.active("/one", events: events), neighbours)
                let (ana, ben) = (try await scene.server.app.signIn("ana"), try await scene.server.app.signIn("ben"))
                let (bad, good) = (
                    try await ana.converse(with: [ben], distinct: false),
                    try await ana.converse(with: [ben], distinct: false)
                )
                scene.receiver.set(.refuse(bad.id), for: "/one")
                var sent: [String: [String]] = [:]
                for number in 0..<6 {
                    for conversation in [bad, good] {
                        let id = try await ana.send("\(number)", to: conversation)
                        sent[conversation.id, default: []].append(String(id.split(separator: "/").last ?? ""))
                    }
                }
                func told(_ conversation: Conversation, _ events: [WebhookReceiver.Event]) -> [String] {
                    events.filter { $0.json["message"]["conversation"]["id"].string == conversation.id }
                        .compactMap(\.id)
                }
                let first = sent[bad.id]?.prefix(1) ?? []
                _ = try await scene.receiver.events(at: "/one") { told(bad, $0).count >= 4 }
                let others = try await scene.receiver.events(at: "/one", repeated: false) { told(good, $0).count == 6 }
                #expect(told(good, others) == sent[good.id])
                #expect(Set(told(bad, scene.receiver.events(at: "/one"))) == Set(first))
                scene.receiver.set(.accept, for: "/one")
                let all = try await scene.receiver.events(at: "/one") { Set(told(bad, $0)).count == 6 }
                #expect(Array(told(bad, all).drop { first.contains($0) }) == Array((sent[bad.id] ?? []).dropFirst()))
                // The neighbour's webhook gets the events of its own app only.
                let theirs = try await neighbour.server.app.signIn("ana")
                    .converse(with: [try await neighbour.server.app.signIn("cleo")])
                let own = try await neighbour.server.app.signIn("ana").send("theirs", to: theirs)
                let heard = try await scene.receiver.events(at: "/neighbour") { !$0.isEmpty }
                #expect(heard.compactMap(\.id) == [String(own.split(separator: "/").last ?? "")])
            }
        }

        // MARK: Faults

        @Test(
            "killing instances during deliveries neither loses nor reorders events", .timeLimit(.minutes(5)), .long)
        func killed() async throws {
            var size = WebhookScene.size
            // Leases are short, so that lanes claimed by a killed instance are soon delivered by another one.
            size.settings["STRATA_WEBHOOKS_TIMEOUT"] = "1s"
            // Retry for an hour, so that a briefly overloaded machine does not end the webhook.
            size.settings["STRATA_WEBHOOKS_RETRY_FOR"] = "1h"
            try await WebhookScene.with(size) { scene in
                _ = try await scene.active("/kill", events: ["Message.created"])
                scene.receiver.set(.slow(.milliseconds(20)), for: "/kill")
                let (ana, ben) = (try await scene.server.app.signIn("ana"), try await scene.server.app.signIn("ben"))
                let own = [
                    try await ana.converse(with: [ben], distinct: false),
                    try await ana.converse(with: [ben], distinct: false),
                    try await ana.converse(with: [ben], distinct: false),
                ]
                var sent: [String: [String]] = [:]
                for round in 0..<30 {
                    for conversation in own {
                        let id = try await ana.send("\(round)", to: conversation)
                        sent[conversation.id, default: []].append(String(id.split(separator: "/").last ?? ""))
                    }
                    if round % 10 == 5 {
                        let victim = scene.cluster.instances(of: .webhooks)[round / 10 % 2]
                        await victim.kill()
                        try await victim.start()
                    }
                }
                let came = try await scene.receiver.events(at: "/kill", repeated: false, within: .seconds(120)) {
                    $0.count == 90
                }
                for (conversation, ids) in sent {
                    #expect(
                        came.filter { $0.json["message"]["conversation"]["id"].string == conversation }.compactMap(\.id)
                            == ids)
                }
            }
        }
    }
}
