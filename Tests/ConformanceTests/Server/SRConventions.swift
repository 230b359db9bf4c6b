// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules for addresses, requests, deduplication, errors and versions.
enum SRConventions {
    static let rules: [ServerRule] = addresses + requests + answers + repetitions + errors + versions

    private static let addresses: [ServerRule] = [
        ServerRule(1, "paths begin with the app's UUID, in any case; ids that are answered are in lower case") { f in
            let conversation = try await f.converse("ana", "ben")
            let upper = "\(f.system.publicURL)/apps/\(f.appID.uppercased())\(f.path(conversation))"
            f.equal(try await f.call("GET", upper).status, 200)
            f.equal(conversation["id"].string, conversation["id"].string?.lowercased())
        },
        ServerRule(
            2,
            "the url of an object is absolute and answers the object to the same token, or, in 1.x, that of a new message"
        ) { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let message = try await f.send("hello", from: "ana", to: conversation)
            for object in [conversation, message] {
                let url = try f.need(object["url"].string, "url")
                f.check(url.hasPrefix(f.base + "/"), url)
                f.equal(try await f.does("GET", url)["id"], object["id"])
            }
            f.equal(conversation["messages_url"].string, (conversation["url"].string ?? "") + "/messages")
        },
        ServerRule(3, "from_id may be a whole id or a bare UUID") { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let first = try await f.send("one", from: "ana", to: conversation)
            let second = try await f.send("two", from: "ana", to: conversation)
            for from in [second["id"].string ?? "", Layer.last(second["id"].string ?? "")] {
                let page = try await f.does("GET", "\(f.path(conversation))/messages?from_id=\(from)")
                f.equal(page.ids, [first["id"].string ?? ""])
            }
        },
        ServerRule(
            3, "a bare user id is taken as it is spelled, with a slash in it, too, also on behalf of a user",
            ServerAPIVersion.new
        ) { f in
            try await f.identify("ana")
            let (team, last) = ("team/\(f.user("ben"))", f.user("zoe"))
            let path = "/users/\(f.user("ana"))"
            // The list begins with the newest entry.
            for other in [last, team] { try await f.does("POST", path + "/following", [.string(other)], status: 202) }
            let from = team.replacingOccurrences(of: "/", with: "%2F")
            f.equal(try await f.does("GET", "\(path)/following?from_id=\(from)"), [.string(Layer.identity(last))])
            f.equal(
                try await f.does("GET", "\(path)/identities?from_id=\(from)").array?
                    .compactMap { $0["user_id"].string }, [last])
            let body: JSONValue = ["participants": [.string(team)], "distinct": false]
            let conversation = try await f.does("POST", path + "/conversations", body, status: 201)
            f.equal(f.ids(conversation["participants"]), [f.user("ana"), team])
            let add: JSONValue = [
                ["operation": "add", "property": "participants", "id": .string("other/\(f.user("ben"))")]
            ]
            try await f.does("PATCH", path + f.path(conversation), add, status: 204)
        },
        ServerRule(4, "a user id with a slash is one escaped segment of a path; a plain one needs no escape") { f in
            let user = "team/\(f.user("ana"))"
            let escaped = user.replacingOccurrences(of: "/", with: "%2F")
            try await f.does("POST", "/users/\(escaped)/identity", ["display_name": "Ana"], status: 201)
            f.equal(try await f.does("GET", "/users/\(escaped)/identity")["user_id"].string, user)
            try await f.does("POST", "/users/\(f.user("ben"))/identity", ["display_name": "Ben"], status: 201)
        },
        ServerRule(
            4, "a user id has up to 128 characters",
            except:
                "it has up to 128 bytes of UTF-8, as in the Client API: ids are parts of keys and of addresses, whose lengths are bounded in bytes."
        ),
        ServerRule(5, "an identity's id is the escaped user id behind layer:///identities/") { f in
            let user = "team/\(f.user("ana"))"
            let escaped = user.replacingOccurrences(of: "/", with: "%2F")
            try await f.does("POST", "/users/\(escaped)/identity", ["display_name": "Ana"])
            f.equal(
                try await f.does("GET", "/users/\(escaped)/identity")["id"].string, "layer:///identities/\(escaped)")
        },
        ServerRule(
            5, "! ~ ' ( and ) stay in it as they are",
            except:
                "they are escaped, too: so clients do, which compare ids as texts. What comes without these escapes is read as well."
        ),
        ServerRule(6, "ids say what they are the ids of") { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let message = try await f.send("hello", from: "ana", to: conversation)
            f.check(conversation["id"].string?.hasPrefix("layer:///conversations/") == true, "\(conversation["id"])")
            f.check(message["id"].string?.hasPrefix("layer:///messages/") == true, "\(message["id"])")
            let part = try await f.does("GET", f.path(message, in: conversation))["parts"][0]["id"].string ?? ""
            f.check(part.hasPrefix("\(message["id"].string ?? "")/parts/"), part)
        },
    ]

    private static let requests: [ServerRule] = [
        ServerRule(
            7,
            "without a token, with one that is unknown and with a session it is 401; with the token of another app 403 access_denied"
        ) {
            f in
            for token in ["", "Bearer nothing", "Layer session-token=\"x\""] {
                f.refused(
                    try await f.call("GET", "/conversations/\(Layer.uuid())", headers: ["Authorization": token]),
                    "authentication_required")
            }
            guard let other = f.system.otherApp else { return f.users.skip("there is no other app") }
            let headers = ["Authorization": "Bearer \(other.serverToken)"]
            f.refused(try await f.call("GET", "/conversations/\(Layer.uuid())", headers: headers), "access_denied")
        },
        ServerRule(
            8,
            "without a version, or with an unknown one or another type, it is 406 Accept; white space and quotes do no harm"
        ) { f in
            for accept in [
                "", "application/json", "application/vnd.layer+json", "application/vnd.layer+json; version=9.0",
            ] {
                let answer = try await f.call("GET", "/conversations/\(Layer.uuid())", headers: ["Accept": accept])
                f.refused(answer, "invalid_header", header: "Accept")
            }
            let accept = "application/vnd.layer+json ; version=\"\(f.version.rawValue)\""
            f.refused(
                try await f.call("GET", "/conversations/\(Layer.uuid())", headers: ["Accept": accept]), "not_found")
        },
        ServerRule(
            9,
            "a patch has the type of a patch, also as it was once misspelt, or that of any JSON; another type is 406 Content-Type"
        ) { f in
            let conversation = try await f.converse("ana", "ben")
            let patch: JSONValue = [["operation": "set", "property": "metadata.a", "value": "1"]]
            for type in [
                "application/vnd.layer-patch+json", "application/vnd.layer-patch.json", "application/json",
                "application/json ;charset=utf-8",
            ] {
                f.equal(
                    try await f.call("PATCH", f.path(conversation), patch, headers: ["Content-Type": type]).status, 204,
                    type)
            }
            let answer = try await f.call("PATCH", f.path(conversation), patch, headers: ["Content-Type": "text/plain"])
            f.refused(answer, "invalid_header", header: "Content-Type")
        },
        ServerRule(10, "a POST with X-HTTP-Method-Override: PATCH is a patch") { f in
            let conversation = try await f.converse("ana", "ben")
            let headers = ["X-HTTP-Method-Override": "PATCH", "Content-Type": "application/vnd.layer-patch+json"]
            let patch: JSONValue = [["operation": "set", "property": "metadata.a", "value": "1"]]
            f.equal(try await f.call("POST", f.path(conversation), patch, headers: headers).status, 204)
            f.equal(try await f.does("GET", f.path(conversation))["metadata"]["a"], "1")
        },
        ServerRule(11, "bodies of GET and DELETE are ignored") { f in
            let conversation = try await f.converse("ana", "ben")
            f.equal(try await f.call("GET", f.path(conversation), [:]).status, 200)
            f.equal(try await f.call("DELETE", f.path(conversation), [:]).status, 204)
        },
        ServerRule(12, "a member that is null is taken for absent") { f in
            let body: JSONValue = ["participants": [f.reference(f.user("ana"))], "distinct": .null, "metadata": .null]
            let conversation = try await f.does("POST", "/conversations", body, status: 201)
            f.equal(conversation["distinct"], true)
            f.equal(conversation["metadata"], [:])
        },
        ServerRule(12, "an empty id, encoding or type of an identity is taken for absent") { f in
            try await f.identify("ana")
            let part: JSONValue = ["id": "", "mime_type": "text/plain", "body": "news", "encoding": ""]
            var announcement: JSONValue = ["id": "", "recipients": [f.reference(f.user("ana"))], "parts": [part]]
            if f.isOld {
                announcement["sender"] = ["name": "Support"]
            } else {
                announcement["sender_id"] = .string(Layer.identity(f.user("ana")))
            }
            try await f.does("POST", "/announcements", announcement, status: 202)
            let identity: JSONValue = ["display_name": "Ben", "identity_type": "", "type": ""]
            try await f.does("POST", "/users/\(f.user("ben"))/identity", identity, status: 201)
            try await f.does("PUT", "/users/\(f.user("ben"))/identity", identity, status: 204)
        },
        ServerRule(
            13, "malformed JSON is 400; an absent member is 422 missing_property, a wrong one 422 invalid_property"
        ) { f in
            let headers = [
                "Authorization": "Bearer \(f.system.app.serverToken)",
                "Accept": "application/vnd.layer+json; version=\(f.version.rawValue)",
                "Content-Type": "application/json",
            ]
            let malformed = try await f.users.client.call(
                "POST", "/apps/\(f.appID)/conversations", data: Data("{".utf8), headers: headers,
                deadline: Fixture.deadline)
            f.refused(malformed, "invalid_request")
            f.refused(try await f.call("POST", "/conversations", ["a"]), "invalid_request")
            f.refused(try await f.call("POST", "/conversations", [:]), "missing_property", property: "participants")
            f.refused(
                try await f.call("POST", "/conversations", ["participants": 5]), "invalid_property",
                property: "participants")
        },
        ServerRule(13, "an empty array is read as an empty object where an object belongs: 422 missing_property") { f in
            let user = "/users/\(f.user("ana"))"
            let conversation = try await f.converse("ana", "ben")
            try await f.identify("ana")
            let sent = try await f.send("hello", from: "ana", to: conversation)
            for (method, path, property) in [
                ("POST", "/conversations", "participants"), ("POST", "/announcements", "recipients"),
                ("POST", "/notifications", "recipients"),
                ("POST", user + "/identity", "display_name"), ("PUT", user + "/identity", "display_name"),
                ("PUT", user + "/badge", "external_unread_count"), ("POST", user + "/blocks", "user_id"),
                ("POST", "/indexes", "property"),
                ("POST", f.path(sent, in: conversation) + "/parts", "mime_type"),
                ("POST", user + f.path(conversation) + "/messages", "parts"),
            ] {
                let answer = try await f.call(method, path, [])
                f.equal(
                    "\(answer.status) \(answer.errorID ?? "") \(answer.json["data"]["property"].string ?? "")",
                    "422 missing_property \(property)",
                    path)
            }
        },
        ServerRule(14, "an unknown path is 404 invalid_endpoint; a method that a path does not have is 405 with Allow")
        { f in
            f.refused(try await f.call("GET", "/nothing/at/all"), "invalid_endpoint")
            let answer = try await f.call("PUT", "/conversations/\(Layer.uuid())", [:])
            f.refused(answer, "method_not_allowed")
            f.check(answer.header("Allow")?.contains("GET") == true, "Allow: \(answer.header("Allow") ?? "none")")
        },
    ]

    private static let answers: [ServerRule] = [
        ServerRule(15, "bodies are JSON; answers without one have no content type") { f in
            let conversation = try await f.converse("ana", "ben")
            let read = try await f.call("GET", f.path(conversation))
            f.check(
                read.header("Content-Type")?.hasPrefix("application/json") == true,
                read.header("Content-Type") ?? "none")
            let deleted = try await f.call("DELETE", f.path(conversation))
            f.equal(deleted.status, 204)
            f.check(deleted.body.isEmpty && deleted.header("Content-Type") == nil, "a body or a type")
        },
        ServerRule(16, "times are UTC with milliseconds and Z") { f in
            let conversation = try await f.converse("ana", "ben")
            f.check(Layer.isTimestamp(conversation["created_at"].string), "\(conversation["created_at"])")
        },
        ServerRule(17, "what is read has all members, null where there is no value") { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let message = try await f.send("hello", from: "ana", to: conversation)
            let read = try await f.does("GET", f.path(message, in: conversation))
            for member in [
                "receipts_url", "position", "received_at", "is_unread", "notification", "sent_at", "sender",
                "recipient_status", "parts",
            ] {
                f.check(read.object?[member] != nil, "there is no \(member)")
            }
            f.equal(read["received_at"], .null)
            f.equal(read["is_unread"], .null)
            f.equal(read["receipts_url"], .null)
        },
        ServerRule(18, "a list is an array; Layer-Count says how long the whole list is, also of one that is empty") {
            f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let empty = try await f.call("GET", f.path(conversation) + "/messages")
            f.equal(empty.header("Layer-Count"), "0")
            f.equal(empty.json, [])
            for text in ["one", "two"] { _ = try await f.send(text, from: "ana", to: conversation) }
            let page = try await f.call("GET", f.path(conversation) + "/messages?page_size=1")
            f.equal(page.header("Layer-Count"), "2")
            f.equal(page.json.array?.count, 1)
        },
        ServerRule(19, "pages begin after from_id; a size beyond the most is cut down, and one that is none is 422") {
            f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            var sent: [String] = []
            for text in ["one", "two", "three"] {
                sent.insert(try await f.send(text, from: "ana", to: conversation)["id"].string ?? "", at: 0)
            }
            let path = f.path(conversation) + "/messages"
            f.equal(try await f.does("GET", path + "?page_size=2").ids, Array(sent[..<2]))
            f.equal(try await f.does("GET", path + "?page_size=2&from_id=\(sent[1])").ids, [sent[2]])
            f.equal(try await f.does("GET", path + "?page_size=100000").ids, sent)
            for size in ["0", "-1", "many"] {
                f.refused(
                    try await f.call("GET", path + "?page_size=\(size)"), "invalid_property", property: "page_size")
            }
        },
        ServerRule(19, "a from_id that is not in the list is 404 not_found") { f in
            let conversation = try await f.converse("ana", "ben")
            f.refused(try await f.call("GET", f.path(conversation) + "/messages?from_id=\(Layer.uuid())"), "not_found")
            try await f.identify("ana")
            let user = "/users/\(f.user("ana"))"
            for list in ["/conversations", f.path(conversation) + "/messages", "/announcements"] {
                f.refused(try await f.call("GET", "\(user)\(list)?from_id=\(Layer.uuid())"), "not_found")
            }
            for list in ["/following", "/identities"] {
                f.refused(try await f.call("GET", "\(user)\(list)?from_id=\(f.user("nobody"))"), "not_found")
            }
        },
    ]

    private static let repetitions: [ServerRule] = [
        ServerRule(20, "a creation with the same If-None-Match is carried out once") { f in
            let headers = ["If-None-Match": Layer.uuid()]
            let body: JSONValue = ["participants": [f.reference(f.user("ana"))], "distinct": false]
            let first = try await f.does("POST", "/conversations", body, headers: headers)
            f.equal(try await f.does("POST", "/conversations", body, headers: headers)["id"], first["id"])
        },
        ServerRule(21, "that UUID becomes the id of what is created") { f in
            try await f.identify("ana")
            let (id, message) = (Layer.uuid(), Layer.uuid())
            let body: JSONValue = ["participants": [f.reference(f.user("ana"))], "distinct": false]
            let conversation = try await f.does("POST", "/conversations", body, headers: ["If-None-Match": id])
            f.equal(conversation["id"].string, "layer:///conversations/\(id)")
            let sent = try await f.does(
                "POST", f.path(conversation) + "/messages", f.message("hello", from: "ana"),
                headers: ["If-None-Match": message])
            f.equal(sent["id"].string, "layer:///messages/\(message)")
        },
        ServerRule(
            21,
            "an id in the body is the id of what is created, and so it is created once; that of the header counts before it"
        ) { f in
            let ben = try await f.users.user("ben")
            try await f.identify("ana")
            let (id, header, place) = (Layer.uuid(), Layer.uuid(), Layer.uuid())
            var conversation: JSONValue = ["participants": [f.reference(f.user("ana"))], "distinct": false]
            conversation["id"] = .string("layer:///conversations/\(place)")
            f.equal(
                try await f.does("POST", "/conversations", conversation, status: 201)["id"].string,
                "layer:///conversations/\(place)")
            var announcement: JSONValue = [
                "id": .string("layer:///announcements/\(id)"), "recipients": [f.reference(f.user("ben"))],
                "parts": [["mime_type": "text/plain", "body": "news"]],
            ]
            if f.isOld {
                announcement["sender"] = ["name": "Support"]
            } else {
                announcement["sender_id"] = .string(Layer.identity(f.user("ana")))
            }
            for _ in 0..<2 {
                f.equal(
                    try await f.does("POST", "/announcements", announcement, status: 202)["id"].string,
                    "layer:///announcements/\(id)")
            }
            f.equal(try await ben.get("/announcements").ids, ["layer:///announcements/\(id)"])
            let other = try await f.does(
                "POST", "/announcements", announcement, status: 202, headers: ["If-None-Match": header])
            f.equal(other["id"].string, "layer:///announcements/\(header)")
            announcement["id"] = "layer:///announcements/7"
            f.refused(try await f.call("POST", "/announcements", announcement), "invalid_property", property: "id")
        },
        ServerRule(22, "a value that is no UUID is 400 invalid_request_id; quotes around one do no harm") { f in
            let body: JSONValue = ["participants": [f.reference(f.user("ana"))], "distinct": false]
            f.refused(
                try await f.call("POST", "/conversations", body, headers: ["If-None-Match": "7"]), "invalid_request_id")
            let id = Layer.uuid()
            let conversation = try await f.does("POST", "/conversations", body, headers: ["If-None-Match": "\"\(id)\""])
            f.equal(conversation["id"].string, "layer:///conversations/\(id)")
        },
        ServerRule(
            23,
            "a repetition is answered as the creation was, with the object as it is now; an id in use elsewhere is 409 id_in_use"
        ) { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let other = try await f.converse("ana", "ben")
            let headers = ["If-None-Match": Layer.uuid()]
            let path = f.path(conversation) + "/messages"
            let first = try await f.does("POST", path, f.message("hello", from: "ana"), status: 201, headers: headers)
            f.equal(
                try await f.does("POST", path, f.message("hello", from: "ana"), status: 201, headers: headers)["id"],
                first["id"])
            f.equal(try await f.does("GET", path).array?.count, 1)
            let elsewhere = try await f.call(
                "POST", f.path(other) + "/messages", f.message("hello", from: "ana"), headers: headers)
            f.equal("\(elsewhere.status) \(elsewhere.errorID ?? "")", "409 id_in_use")
            f.check(elsewhere.json.object?["data"] == nil, "data of another conversation: \(elsewhere.json)")
            // Use the id of an object of another type.
            let of = { (object: JSONValue) in ["If-None-Match": Layer.last(object["id"].string ?? "")] }
            let message = try await f.call("POST", path, f.message("hello", from: "ana"), headers: of(other))
            f.equal("\(message.status) \(message.errorID ?? "")", "409 id_in_use")
            let body: JSONValue = ["participants": [f.reference(f.user("ana"))], "distinct": false]
            let created = try await f.call("POST", "/conversations", body, headers: of(first))
            f.equal("\(created.status) \(created.errorID ?? "")", "409 id_in_use")
        },
        ServerRule(24, "the header does nothing to other requests, whatever is in it") { f in
            let conversation = try await f.converse("ana", "ben")
            for value in [Layer.uuid(), "7", "*"] {
                let headers = ["If-None-Match": value]
                f.equal(try await f.call("GET", f.path(conversation), headers: headers).status, 200)
                let patch: JSONValue = [["operation": "set", "property": "metadata.a", "value": "1"]]
                f.equal(try await f.call("PATCH", f.path(conversation), patch, headers: headers).status, 204)
            }
            f.equal(
                try await f.call("DELETE", f.path(conversation), headers: ["If-None-Match": Layer.uuid()]).status, 204)
        },
    ]

    private static let errors: [ServerRule] = [
        ServerRule(25, "errors have id, code, message and url") { f in
            f.refused(try await f.call("GET", "/conversations/\(Layer.uuid())"), "not_found")
            f.refused(try await f.call("POST", "/conversations", [:]), "missing_property", property: "participants")
        },
        ServerRule(25, "errors have data only where there is something to say") { f in
            let conversation = try await f.converse("ana", "ben")
            try await f.does("DELETE", f.path(conversation), status: 204)
            for answer in [
                try await f.call("GET", f.path(conversation)),
                try await f.call("GET", "/conversations/\(Layer.uuid())"),
                try await f.call("GET", "/nothing"), try await f.call("PUT", "/conversations", [:]),
                try await f.call("GET", "/conversations/\(Layer.uuid())", headers: ["Authorization": "Bearer nothing"]),
            ] {
                f.check(
                    answer.status >= 400 && answer.json["code"].int != nil && answer.json.object?["data"] == nil,
                    "\(answer.status) \(answer.json)")
            }
        },
        ServerRule(26, "the message of an error is a sentence for people, and names what is wrong") { f in
            let answer = try await f.call("POST", "/conversations", [:])
            f.check(answer.json["message"].string?.contains("participants") == true, "\(answer.json)")
        },
        ServerRule(27, "the app is checked before the token, the token before the version, members before the object") {
            f in
            let nowhere = "\(f.system.publicURL)/apps/\(Layer.uuid())/conversations"
            f.equal(
                try await f.call("GET", nowhere, headers: ["Authorization": "", "Accept": ""]).errorID, "invalid_app_id"
            )
            let path = "/conversations/\(Layer.uuid())/messages"
            f.equal(
                try await f.call("POST", path, [:], headers: ["Authorization": "", "Accept": ""]).errorID,
                "authentication_required")
            f.equal(try await f.call("POST", path, [:], headers: ["Accept": ""]).errorID, "invalid_header")
            f.equal(try await f.call("POST", path, [:]).errorID, "missing_property")
            f.equal(try await f.call("POST", path, f.message("hello", from: "ana")).errorID, "not_found")
        },
        ServerRule(27, "a conversation or a message that is not there is told before a member that is wrong") { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let message = try await f.send("hello", from: "ana", to: conversation)
            let patch: JSONValue = [["operation": "set", "property": "colour", "value": "red"]]
            var wrong = f.message("hello", from: "ana")
            wrong["parts"] = []
            let unknown = "/conversations/\(Layer.uuid())"
            f.refused(try await f.call("PATCH", unknown, patch), "not_found")
            f.refused(try await f.call("POST", unknown + "/messages", wrong), "not_found")
            let parts = "\(f.path(conversation))/messages/\(Layer.uuid())/parts"
            f.refused(try await f.call("POST", parts, ["mime_type": "text/plain", "body": 5]), "not_found")
            // While the object exists, the error names the invalid property.
            f.refused(try await f.call("PATCH", f.path(conversation), patch), "invalid_property", property: "colour")
            let there = f.path(message, in: conversation) + "/parts"
            f.refused(
                try await f.call("POST", there, ["mime_type": "text/plain", "body": 5]), "invalid_property",
                property: "body")
            try await f.does("DELETE", f.path(conversation), status: 204)
            f.refused(try await f.call("PATCH", f.path(conversation), patch), "object_deleted")
            f.refused(try await f.call("POST", f.path(conversation) + "/messages", wrong), "object_deleted")
        },
        ServerRule(
            27, "below a user's path, too, what is not there is told before a member that is wrong",
            except:
                "there the whole body is looked at first: on behalf of a user as in the Client API, whose requests these are, and likewise for what the "
                + "server says about a user."
        ),
        ServerRule(28, "a creation that is sent again under its id does no harm, whichever gateway takes it") { f in
            let body: JSONValue = ["participants": [f.reference(f.user("ana"))], "distinct": false]
            let headers = ["If-None-Match": Layer.uuid()]
            let first = try await f.call("POST", "/conversations", body, headers: headers)
            let second = try await f.call("POST", "/conversations", body, headers: headers, gateway: 1)
            f.equal(first.json["id"], second.json["id"])
        },
        ServerRule(
            29, "the limit of requests can be set for each app",
            except:
                "it is one setting for all server tokens, STRATA_RATE_LIMIT_SERVER; beyond it an answer is 429 with the error and Retry-After."
        ),
    ]

    private static let versions: [ServerRule] = [
        ServerRule(30, "what one version made, every other one shows") { f in
            let conversation = try await f.converse("ana", "ben", metadata: ["a": "1"])
            for version in ServerAPIVersion.allCases {
                let other = ServerFixture(users: f.users, version: version)
                let read = try await other.does("GET", f.path(conversation))
                f.equal(other.ids(read["participants"]), [f.user("ana"), f.user("ben")], version.rawValue)
                f.equal(read["metadata"], ["a": "1"])
            }
        },
        ServerRule(
            31, "a message under a name is shown since 2.0 as sent by an identity without an id and with this name",
            [.v1, .v11]
        ) { f in
            let conversation = try await f.converse("ana", "ben")
            let body: JSONValue = [
                "sender": ["name": "Concierge"], "parts": [["mime_type": "text/plain", "body": "Hi"]],
            ]
            let message = try await f.does("POST", f.path(conversation) + "/messages", body, status: 201)
            let new = try await ServerFixture(users: f.users, version: .v3)
                .does("GET", f.path(message, in: conversation))
            f.equal(new["sender"]["id"], .null)
            f.equal(new["sender"]["user_id"], .null)
            f.equal(new["sender"]["display_name"].string, "Concierge")
        },
        ServerRule(32, "1.x shows a message of an identity with its user id and numbered parts", [.v2, .v3]) { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let message = try await f.send("hello", from: "ana", to: conversation)
            let old = try await ServerFixture(users: f.users, version: .v1)
                .does("GET", f.path(message, in: conversation))
            f.equal(old["sender"]["user_id"].string, f.user("ana"))
            f.equal(old["sender"]["name"], .null)
            f.check(old["parts"][0]["id"].string?.hasSuffix("/parts/0") == true, "\(old["parts"][0]["id"])")
        },
    ]
}
