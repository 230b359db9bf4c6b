// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Webhooks: administration and delivery.
enum SRWebhooks {
    static let rules: [ServerRule] = administration + delivery

    /// Those of webhooks.
    private static let versions: [ServerAPIVersion] = [.v1, .v2, .v3]

    private static func ask(_ f: ServerFixture, _ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> RESTAnswer {
        try await f.call(method, "/webhooks" + path, body, headers: ["Accept": "application/vnd.layer.webhooks+json; version=\(f.version.rawValue)"])
    }

    private static func created(_ f: ServerFixture) -> JSONValue { f.version == .v1 ? "message.sent" : "Message.created" }

    private static func hook(_ f: ServerFixture, _ target: String) -> JSONValue {
        [
            "version": .string(f.version.rawValue), "target_url": .string(target), "events": [created(f)], "secret": "s3cr3t",
            "config": ["key": "value"],
        ]
    }

    /// Registers one, and waits until it has the status.
    private static func register(_ f: ServerFixture, _ path: String, until status: String = "active") async throws -> JSONValue {
        let receiver = try await HookReceiver.shared()
        let answer = try await ask(f, "POST", "", hook(f, receiver.url + path))
        guard answer.status == 201, let id = answer.json["id"].string else { throw HarnessError("\(answer.status) \(answer.json)") }
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

    /// A message in a conversation of its own.
    private static func say(_ f: ServerFixture) async throws -> JSONValue {
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
        ServerRule(111, "one is registered: 201, unverified, without its secret; what is absent is 422 missing_property", versions) { f in
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
            let message = try await say(f)
            // Messages of other rules may have come to both while both were active.
            func told(_ request: JSONValue) -> Bool { request["body"].string?.contains(message["id"].string ?? "-") == true }
            _ = try await receiver.events("/on/\(f.mark)") { $0.contains(where: told) }
            try f.check(!receiver.requests("/silent/\(f.mark)").contains(where: told), "an event came to an inactive one")
            for hook in [on, off] { try await delete(f, hook) }
        },
        ServerRule(118, "it is asked for a challenge; with a wrong answer it becomes inactive, and says why", versions) { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/\(f.mark)/wrong", until: "inactive")
            f.check(hook["status_reason"].string?.isEmpty == false, "no reason")
            let asked = try receiver.requests("/\(f.mark)/wrong").first?["path"].string
            f.check(asked?.contains("verification_challenge=") == true, asked ?? "not asked")
            try await delete(f, hook)
        },
    ]

    private static let delivery: [ServerRule] = [
        ServerRule(120, "an event is posted with its type, its id, the webhook's id and a signature of the body", versions) { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/signed/\(f.mark)")
            let message = try await say(f)
            let events = try await receiver.events("/signed/\(f.mark)") {
                $0.contains { $0["body"].string?.contains(message["id"].string ?? "-") == true }
            }
            let event = try f.need(events.first { $0["body"].string?.contains(message["id"].string ?? "-") == true }, "event")
            let (headers, body) = (event["headers"], event["body"].string ?? "")
            f.equal(headers["layer-webhook-event-type"], created(f))
            f.equal(headers["layer-webhook-signature"].string, HookReceiver.signature(of: body, secret: "s3cr3t"))
            f.equal(headers["layer-webhook-id"], hook["id"])
            f.check(headers["user-agent"].string?.contains("layer-webhooks") == true, "\(headers["user-agent"])")
            f.check(headers["content-type"].string?.hasPrefix("application/vnd.layer.webhooks+json") == true, "\(headers["content-type"])")
            let json = try JSONValue(parsing: body)
            f.equal(json["event"]["id"], headers["layer-webhook-request-id"])
            f.equal(json["config"], ["key": "value"])
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
            _ = try await say(f)
            let events = try await receiver.events("/\(f.mark)/fails-once") { events in
                Set(events.compactMap { $0["headers"]["layer-webhook-request-id"].string }).count < events.count
            }
            f.check(events.count >= 2, "\(events.count) events")
            try await delete(f, hook)
        },
        ServerRule(123, "the id of the event of a creation is the id of what was created", versions) { f in
            let receiver = try await HookReceiver.shared()
            let hook = try await register(f, "/ids/\(f.mark)")
            let message = try await say(f)
            let id = Layer.last(message["id"].string ?? "-")
            _ = try await receiver.events("/ids/\(f.mark)") { $0.contains { $0["headers"]["layer-webhook-request-id"].string == id } }
            try await delete(f, hook)
        },
    ]
}
