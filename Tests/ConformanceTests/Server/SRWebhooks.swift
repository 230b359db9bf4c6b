// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

enum SRWebhooks {
    static let rules: [ServerRule] = administration + delivery

    private static let versions: [ServerAPIVersion] = [.v1, .v2, .v3]

    private static let secret = "of the tests' receiver"

    private static func ask(
        _ f: ServerFixture, _ method: String, _ path: String, _ body: JSONValue? = nil
    ) async throws -> RESTResponse {
        try await f.call(
            method, "/webhooks" + path, body,
            headers: ["Accept": "application/vnd.layer.webhooks+json; version=\(f.version.rawValue)"])
    }

    private static func created(_ f: ServerFixture) -> JSONValue {
        f.version == .v1 ? "message.sent" : "Message.created"
    }

    private static func hook(_ f: ServerFixture, _ target: String, events: JSONValue? = nil) -> JSONValue {
        [
            "version": .string(f.version.rawValue), "target_url": .string(target), "events": events ?? [created(f)],
            "secret": .string(secret),
            "config": ["key": "value"],
        ]
    }

    private static func register(
        _ f: ServerFixture, _ path: String, until status: String = "active", events: JSONValue? = nil
    ) async throws -> JSONValue {
        let receiver = try await HookReceiver.shared()
        let answer = try await ask(f, "POST", "", hook(f, receiver.url + path, events: events))
        guard answer.status == 201, let id = answer.json["id"].string else {
            throw HarnessError("\(answer.status) \(answer.json)")
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while .now < deadline {
            let read = try await ask(f, "GET", "/\(Layer.last(id))").json
            if read["status"].string == status { return read }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw HarnessError("the webhook \(id) did not become \(status)")
    }

    private static func delete(_ f: ServerFixture, _ hook: JSONValue) async throws {
        f.equal(try await ask(f, "DELETE", "/\(Layer.last(hook["id"].string ?? ""))").status, 204)
    }

    private static func sendMessage(_ f: ServerFixture) async throws -> JSONValue {
        try await f.identify("ana")
        return try await f.send("hello", from: "ana", to: try await f.converse("ana", "ben"))
    }

    private static let administration: [ServerRule] = [
        ServerRule(110, "webhooks have a media type of their own; without a version it is 406 Accept", versions) { f in
            f.refused(try await f.call("GET", "/webhooks", headers: ["Accept": ""]), "invalid_header", header: "Accept")
            f.equal(try await ask(f, "GET", "").status, 200)
        },
        ServerRule(110, "they have no version 1.1: it is 406 Accept", [.v11]) { f in
            f.refused(try await ask(f, "GET", ""), "invalid_header", header: "Accept")
            f.refused(try await f.call("GET", "/webhooks"), "invalid_header", header: "Accept")
        },
        ServerRule(
            110, "the media type of the other requests is 406 where webhooks are asked for", versions,
            except: "both types are taken: a version is what matters, and that is the same in both."),
        ServerRule(
            111, "one is registered: 201, unverified, without its secret; what is absent is 422 missing_property",
            versions
        ) { f in
            let receiver = try await HookReceiver.shared()
            let answer = try await ask(f, "POST", "", hook(f, "\(receiver.url)/registered/\(f.mark)"))
            f.equal(answer.status, 201)
            f.equal(answer.json["status"].string, "unverified")
            f.check(answer.json.object?["secret"] == nil, "the secret")
            f.check(answer.json["id"].string?.hasPrefix("layer:///apps/") == true, "\(answer.json["id"])")
            for member in ["version", "target_url", "events", "secret"] {
                var body = hook(f, "\(receiver.url)/x")
                body[member] = nil
                f.refused(try await ask(f, "POST", "", body), "missing_property", property: member)
            }
            try await delete(f, answer.json)
        },
        ServerRule(
            111, "its secret may have any length", versions,
            except: "it has at least 16 bytes; the operator may allow fewer (STRATA_WEBHOOKS_SECRET_MIN_BYTES)."),
        ServerRule(
            111,
            "its id is layer:///apps/APP/webhooks/UUID, wherever it is shown; a path has the UUID, or the whole id",
            versions
        ) { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/id/\(f.mark)")
            let id = try f.need(hook["id"].string, "id")
            f.equal(id, "layer:///apps/\(f.appID)/webhooks/\(Layer.last(id))")
            f.check(try await ask(f, "GET", "").json.ids.contains(id), "it is not in the list")
            let escaped = id.replacingOccurrences(of: ":", with: "%3A").replacingOccurrences(of: "/", with: "%2F")
            f.equal(try await ask(f, "GET", "/\(escaped)").json["id"].string, id)
            let asked = try receiver.requests("/id/\(f.mark)").first
            f.equal(asked?["headers"]["layer-webhook-id"].string, id)
            f.equal(
                try await ask(f, "GET", "/\(escaped.replacingOccurrences(of: f.appID, with: Layer.uuid()))").status, 404
            )
            try await delete(f, hook)
        },
        ServerRule(
            111, "two events may be registered under their names from before the release; the released names are shown",
            [.v1]
        ) { f in
            let receiver = try await HookReceiver.shared()
            let released: JSONValue = ["conversation.updated.metadata", "conversation.updated.participants"]
            for names in [released, ["conversation.metadata_updated", "conversation.participants_updated"]] {
                var body = hook(f, "\(receiver.url)/named/\(f.mark)")
                body["events"] = names
                let answer = try await ask(f, "POST", "", body)
                f.equal(answer.status, 201)
                f.equal(answer.json["events"], released)
                let id = Layer.last(answer.json["id"].string ?? "")
                f.equal(try await ask(f, "GET", "/\(id)").json["events"], released)
                try await delete(f, answer.json)
            }
        },
        ServerRule(112, "all are listed", versions) { f in
            let hook = try await register(f, "/listed/\(f.mark)")
            f.check(try await ask(f, "GET", "").json.ids.contains(hook["id"].string ?? ""), "it is not in the list")
            try await delete(f, hook)
        },
        ServerRule(113, "one is read; an unknown one is 404", versions) { f in
            let hook = try await register(f, "/read/\(f.mark)")
            f.equal(hook["config"], ["key": "value"])
            f.refused(try await ask(f, "GET", "/\(Layer.uuid())"), "not_found")
            try await delete(f, hook)
        },
        ServerRule(114, "an inactive one is activated, and verified again: 200", versions) { f in
            let hook = try await register(f, "/again/\(f.mark)")
            let id = Layer.last(hook["id"].string ?? "")
            f.equal(try await ask(f, "POST", "/\(id)/deactivate").json["status"].string, "inactive")
            f.equal(try await ask(f, "POST", "/\(id)/activate").status, 200)
            try await delete(f, hook)
        },
        ServerRule(115, "an active one is deactivated: 200, inactive", versions) { f in
            let hook = try await register(f, "/off/\(f.mark)")
            let answer = try await ask(f, "POST", "/\(Layer.last(hook["id"].string ?? ""))/deactivate")
            f.equal("\(answer.status) \(answer.json["status"].string ?? "")", "200 inactive")
            try await delete(f, hook)
        },
        ServerRule(116, "one is deleted: 204, and then it is 404", versions) { f in
            let hook = try await register(f, "/gone/\(f.mark)")
            try await delete(f, hook)
            f.refused(try await ask(f, "GET", "/\(Layer.last(hook["id"].string ?? ""))"), "not_found")
        },
        ServerRule(117, "only an active one gets events", versions) { f in
            let receiver = try await HookReceiver.shared()
            let (on, off) = (try await register(f, "/on/\(f.mark)"), try await register(f, "/silent/\(f.mark)"))
            f.equal(try await ask(f, "POST", "/\(Layer.last(off["id"].string ?? ""))/deactivate").status, 200)
            let message = try await sendMessage(f)
            // While both webhooks were active, they may have received messages of other rules.
            func told(_ request: JSONValue) -> Bool {
                request["body"].string?.contains(message["id"].string ?? "-") == true
            }
            _ = try await receiver.events("/on/\(f.mark)") { $0.contains(where: told) }
            try f.check(
                !receiver.requests("/silent/\(f.mark)").contains(where: told), "an event came to an inactive one")
            for hook in [on, off] { try await delete(f, hook) }
        },
        ServerRule(118, "it is asked for a challenge; with a wrong answer it becomes inactive, and says why", versions)
        { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/\(f.mark)/wrong", until: "inactive")
            f.equal(hook["status_reason"].string, "Verification failed because the answer is not the challenge.")
            let asked = try receiver.requests("/\(f.mark)/wrong").first?["path"].string
            f.check(asked?.contains("verification_challenge=") == true, asked ?? "not asked")
            try await delete(f, hook)
        },
    ]

    private static let delivery: [ServerRule] = [
        ServerRule(
            120, "an event is posted with its type, its id, the webhook's id and a signature of the body", versions
        ) { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/signed/\(f.mark)")
            let message = try await sendMessage(f)
            let events = try await receiver.events("/signed/\(f.mark)") {
                $0.contains { $0["body"].string?.contains(message["id"].string ?? "-") == true }
            }
            let event = try f.need(
                events.first { $0["body"].string?.contains(message["id"].string ?? "-") == true }, "event")
            let (headers, body) = (event["headers"], event["body"].string ?? "")
            f.equal(headers["layer-webhook-event-type"], created(f))
            f.equal(headers["layer-webhook-signature"].string, HookReceiver.signature(of: body, secret: Self.secret))
            f.equal(headers["layer-webhook-id"], hook["id"])
            f.check(headers["user-agent"].string?.contains("layer-webhooks") == true, "\(headers["user-agent"])")
            f.check(
                headers["content-type"].string?.hasPrefix("application/vnd.layer.webhooks+json") == true,
                "\(headers["content-type"])")
            let json = try JSONValue(parsing: body)
            f.equal(json["event"]["id"], headers["layer-webhook-request-id"])
            f.equal(json["config"], ["key": "value"])
            try await delete(f, hook)
        },
        ServerRule(
            120, "changes of metadata and of participants have their released names in the body and in the header",
            [.v1]
        ) {
            f in
            let receiver = try await HookReceiver.shared()
            let names = ["conversation.updated.metadata", "conversation.updated.participants"]
            let hook = try await register(f, "/changes/\(f.mark)", events: .array(names.map { .string($0) }))
            let conversation = try await f.converse("ana", "ben")
            try await f.does(
                "PATCH", f.path(conversation), [["operation": "set", "property": "metadata.a", "value": "1"]],
                status: 204)
            let add: JSONValue = [
                ["operation": "add", "property": "participants", "value": f.reference(f.user("cleo"))]
            ]
            try await f.does("PATCH", f.path(conversation), add, status: 204)
            func told(_ events: [JSONValue]) -> [JSONValue] {
                events.filter { $0["body"].string?.contains(conversation["id"].string ?? "-") == true }
            }
            let events = told(try await receiver.events("/changes/\(f.mark)") { told($0).count >= 2 })
            f.equal(events.compactMap { $0["headers"]["layer-webhook-event-type"].string }, names)
            f.equal(try events.map { try JSONValue(parsing: $0["body"].string ?? "")["event"]["type"].string }, names)
            try await delete(f, hook)
        },
        ServerRule(
            120,
            "user ids that look like integers come first, by number, as JavaScript orders them; the signature covers that",
            [.v1]
        ) { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/ordered/\(f.mark)")
            // Other users of the app have ids with letters.
            let large = Int.random(in: 1_000_000_000...4_000_000_000)
            let users = ["\(large)", "\(large / 10)", "b.\(f.mark)", "0\(large / 10)", "a.\(f.mark)"]
            let conversation = try await f.does(
                "POST", "/conversations", ["participants": .array(users.map { .string($0) }), "distinct": false],
                status: 201)
            let body: JSONValue = [
                "sender": ["name": "Concierge"], "parts": [["mime_type": "text/plain", "body": "hello"]],
            ]
            let message = try await f.does("POST", f.path(conversation) + "/messages", body, status: 201)
            func told(_ request: JSONValue) -> Bool {
                request["body"].string?.contains(message["id"].string ?? "-") == true
            }
            let events = try await receiver.events("/ordered/\(f.mark)") { $0.contains(where: told) }
            let event = try f.need(events.first(where: told), "event")
            let text = event["body"].string ?? ""
            let ordered = ["\(large / 10)", "\(large)", "0\(large / 10)", "a.\(f.mark)", "b.\(f.mark)"]
            f.check(
                text.contains("\"recipient_status\":{\(ordered.map { "\"\($0)\":\"sent\"" }.joined(separator: ","))}"),
                text)
            f.equal(
                event["headers"]["layer-webhook-signature"].string,
                HookReceiver.signature(of: text, secret: Self.secret))
            try await delete(f, hook)
        },
        ServerRule(
            121, "a receiver has one second to answer, and an event is given up after five repetitions", versions,
            except:
                "it has ten seconds (STRATA_WEBHOOKS_TIMEOUT), and events are repeated for three days; then the webhook rests and keeps them for seven."
        ),
        ServerRule(122, "an event that was not taken comes again under the same id", versions) { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/\(f.mark)/fails-once")
            _ = try await sendMessage(f)
            let events = try await receiver.events("/\(f.mark)/fails-once") { events in
                Set(events.compactMap { $0["headers"]["layer-webhook-request-id"].string }).count < events.count
            }
            f.check(events.count >= 2, "\(events.count) events")
            try await delete(f, hook)
        },
        ServerRule(123, "the id of the event of a creation is the id of what was created", versions) { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/ids/\(f.mark)")
            let message = try await sendMessage(f)
            let id = Layer.last(message["id"].string ?? "-")
            _ = try await receiver.events("/ids/\(f.mark)") {
                $0.contains { $0["headers"]["layer-webhook-request-id"].string == id }
            }
            try await delete(f, hook)
        },
    ]
}
