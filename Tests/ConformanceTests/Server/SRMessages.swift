// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

enum SRMessages {
    static let rules: [ServerRule] = bodies + sending + reading + parts

    private static func message(_ f: ServerFixture, _ parts: JSONValue) -> JSONValue {
        var body = f.message("", from: "ana")
        body["parts"] = parts
        return body
    }

    /// Creates a conversation of Ana, who has an identity, and Ben.
    private static func conversation(_ f: ServerFixture) async throws -> JSONValue {
        try await f.identify("ana")
        return try await f.converse("ana", "ben")
    }

    private static let bodies: [ServerRule] = [
        ServerRule(33, "a part with a body and content, or with neither, is 422; an empty body is good") { f in
            let path = f.path(try await conversation(f)) + "/messages"
            let content: JSONValue = ["id": .string("layer:///content/\(Layer.uuid())"), "size": 1]
            for part in [["mime_type": "text/plain"], ["mime_type": "text/plain", "body": "x", "content": content]]
                as [JSONValue]
            {
                f.check(try await f.call("POST", path, message(f, [part])).status == 422, "\(part)")
            }
            try await f.does("POST", path, message(f, [["mime_type": "text/plain", "body": ""]]), status: 201)
        },
        ServerRule(
            33,
            "a part with neither is 422 for its body in an announcement, too, and where parts are added and replaced"
        ) { f in
            let conversation = try await conversation(f)
            var announcement: JSONValue = [
                "recipients": [f.reference(f.user("ben"))], "parts": [["mime_type": "text/plain"]],
            ]
            if f.isOld {
                announcement["sender"] = ["name": "Support"]
            } else {
                announcement["sender_id"] = .string(Layer.identity(f.user("ana")))
            }
            f.refused(
                try await f.call("POST", "/announcements", announcement), "invalid_property", property: "parts.0.body")
            let sent = try await f.send("hello", from: "ana", to: conversation)
            let parts = f.path(sent, in: conversation) + "/parts"
            let empty: JSONValue = ["mime_type": "text/plain"]
            f.refused(try await f.call("POST", parts, empty), "invalid_property", property: "body")
            f.refused(try await f.call("PUT", parts, [empty]), "invalid_property", property: "parts.0.body")
            f.refused(try await f.call("POST", parts, ["body": "x"]), "missing_property", property: "mime_type")
            let part = try await f.does("GET", parts)[0]["id"].string ?? ""
            f.refused(
                try await f.call("PUT", "\(parts)/\(Layer.last(part))", empty), "invalid_property", property: "body")
        },
        ServerRule(34, "an inline body has at most 2,048 bytes, counted before base64; more is 422") { f in
            let path = f.path(try await conversation(f)) + "/messages"
            let (most, more) = (String(repeating: "x", count: 2048), String(repeating: "x", count: 2049))
            try await f.does(
                "POST", path, message(f, [["mime_type": "text/plain", "body": .string(most)]]), status: 201)
            let encoded = Data(most.utf8).base64EncodedString()
            try await f.does(
                "POST", path, message(f, [["mime_type": "a/b", "body": .string(encoded), "encoding": "base64"]]),
                status: 201)
            f.equal(
                try await f.call("POST", path, message(f, [["mime_type": "text/plain", "body": .string(more)]]))
                    .errorID, "invalid_property")
        },
        ServerRule(35, "base64 that is none is 422; bytes that are text come back as text, others as base64") { f in
            let conversation = try await conversation(f)
            let path = f.path(conversation) + "/messages"
            let wrong: JSONValue = [["mime_type": "a/b", "body": "?", "encoding": "base64"]]
            f.equal(try await f.call("POST", path, message(f, wrong)).errorID, "invalid_property")
            let bytes: JSONValue = [
                ["mime_type": "a/b", "body": .string(Data([0xff, 0xfe]).base64EncodedString()), "encoding": "base64"]
            ]
            let sent = try await f.does("POST", path, message(f, bytes), status: 201)
            let read = try await f.does("GET", f.path(sent, in: conversation))["parts"][0]
            f.equal(read["encoding"].string, "base64")
            f.equal(read["body"].string, Data([0xff, 0xfe]).base64EncodedString())
        },
        ServerRule(36, "a message has one part or more, at most 1,000") { f in
            let path = f.path(try await conversation(f)) + "/messages"
            f.equal(try await f.call("POST", path, message(f, [])).errorID, "invalid_property")
            let part: JSONValue = ["mime_type": "text/plain", "body": "x"]
            f.equal(
                try await f.call("POST", path, message(f, .array(Array(repeating: part, count: 1001)))).errorID,
                "invalid_property")
        },
    ]

    private static let sending: [ServerRule] = [
        ServerRule(50, "a participant's message is 201 with what is new of it, and is told to the others at once") {
            f in
            let ben = try await f.users.user("ben")
            let conversation = try await conversation(f)
            let socket = try await ben.socket()
            let sent = try await f.send("hello", from: "ana", to: conversation)
            f.equal(f.status(sent, f.user("ana")), "read")
            f.equal(f.status(sent, f.user("ben")), "sent")
            f.equal(sent["parts"][0]["body"].string, "hello")
            let packet = try await socket.message("hello")
            f.equal(packet.data["sender"]["user_id"].string, f.user("ana"))
        },
        ServerRule(50, "a message may be sent under a name that is no user's", ServerAPIVersion.old) { f in
            let ben = try await f.users.user("ben")
            let conversation = try await f.converse("ana", "ben")
            let socket = try await ben.socket()
            let body: JSONValue = [
                "sender": ["name": "Concierge", "display_name": "x"],
                "parts": [["mime_type": "text/plain", "body": "welcome"]],
            ]
            let sent = try await f.does("POST", f.path(conversation) + "/messages", body, status: 201)
            f.equal(sent["sender"], ["name": "Concierge"])
            f.equal(try await socket.message("welcome").data["sender"]["user_id"], .null)
            let read = try await f.does("GET", f.path(sent, in: conversation))
            f.equal(read["sender"], ["name": "Concierge", "user_id": .null])
        },
        ServerRule(
            50, "both kinds of sender at once are 422, and neither is 422 missing_property", ServerAPIVersion.old
        ) { f in
            let path = f.path(try await conversation(f)) + "/messages"
            let part: JSONValue = [["mime_type": "text/plain", "body": "x"]]
            let both: JSONValue = ["sender": ["name": "Concierge", "user_id": .string(f.user("ana"))], "parts": part]
            f.check(try await f.call("POST", path, both).status == 422, "both")
            f.refused(try await f.call("POST", path, ["parts": part]), "missing_property", property: "sender")
        },
        ServerRule(
            50, "a sender without an identity is 422 sender_id; one who does not take part is 403", ServerAPIVersion.new
        ) { f in
            let conversation = try await conversation(f)
            let path = f.path(conversation) + "/messages"
            f.refused(
                try await f.call("POST", path, f.message("x", from: "nobody")), "invalid_property",
                property: "sender_id")
            try await f.identify("cleo")
            f.refused(try await f.call("POST", path, f.message("x", from: "cleo")), "access_denied")
        },
        ServerRule(
            50, "a sender who takes part, but was never given an identity, is 422", ServerAPIVersion.new,
            except: "who takes part may send; the message shows them as the list of participants does."),
        ServerRule(50, "a bot need not take part in the conversation", ServerAPIVersion.new) { f in
            let conversation = try await conversation(f)
            let (member, kind): (String, JSONValue) = f.version == .v3 ? ("identity_type", "bot") : ("type", "Bot")
            try await f.does(
                "POST", "/users/\(f.user("bot"))/identity", ["display_name": "Bot", member: kind], status: 201)
            try await f.does("POST", f.path(conversation) + "/messages", f.message("beep", from: "bot"), status: 201)
        },
        ServerRule(
            50,
            "an absent sender or absent parts are told before an unknown conversation, and that before a deleted one"
        ) { f in
            let conversation = try await conversation(f)
            try await f.does("DELETE", f.path(conversation))
            f.refused(try await f.call("POST", f.path(conversation) + "/messages", [:]), "missing_property")
            f.refused(
                try await f.call("POST", f.path(conversation) + "/messages", f.message("x", from: "ana")),
                "object_deleted")
            f.refused(
                try await f.call("POST", "/conversations/\(Layer.uuid())/messages", f.message("x", from: "ana")),
                "not_found")
        },
        ServerRule(50, "up to twelve messages in an array are sent in their order: 202; thirteen are 422", [.v3]) { f in
            let conversation = try await conversation(f)
            let path = f.path(conversation) + "/messages"
            let twelve = (1...12).map { f.message("\($0)", from: "ana") }
            let answer = try await f.call("POST", path, .array(twelve))
            f.equal(answer.status, 202)
            f.check(answer.body.isEmpty, "a body")
            let read = try await f.does("GET", path).array?.map { $0["parts"][0]["body"].string ?? "" }
            f.equal(read, (1...12).reversed().map { "\($0)" })
            f.check(
                try await f.call("POST", path, .array(twelve + [f.message("13", from: "ana")])).status == 422,
                "thirteen")
        },
        ServerRule(50, "an empty array of messages is 400") { f in
            f.refused(try await f.call("POST", f.path(try await conversation(f)) + "/messages", []), "invalid_request")
        },
        ServerRule(51, "a message with a delay is 202 and sent later; its sender is shown as typing until then") { f in
            let ben = try await f.users.user("ben")
            let conversation = try await conversation(f)
            let socket = try await ben.socket()
            try await socket.change("create", "Conversation", conversation["id"].string)
            var body = f.message("later", from: "ana")
            body["schedule"] = ["delay_in_seconds": 6.0, "typing_indicator_in_seconds": 4.0]
            let answer = try await f.call("POST", f.path(conversation) + "/messages", body)
            f.equal(answer.status, 202)
            f.equal(try await f.does("GET", f.path(conversation) + "/messages"), [])
            try await socket.typingSeen("started", in: conversation["id"].string ?? "")
            try await socket.message("later")
        },
        ServerRule(51, "a delay that is out of range is 422") { f in
            let path = f.path(try await conversation(f)) + "/messages"
            for delay in [0.5, 300.5, -1] {
                var body = f.message("later", from: "ana")
                body["schedule"] = ["delay_in_seconds": .number(delay)]
                f.equal(try await f.call("POST", path, body).errorID, "invalid_property", "\(delay)")
            }
        },
    ]

    private static let reading: [ServerRule] = [
        ServerRule(
            52, "messages are listed newest first, for the server without a user's members, for a user with them"
        ) { f in
            let conversation = try await conversation(f)
            let one = try await f.send("one", from: "ana", to: conversation)
            let two = try await f.send("two", from: "ana", to: conversation)
            let list = try await f.does("GET", f.path(conversation) + "/messages")
            f.equal(list.ids, [two["id"].string ?? "", one["id"].string ?? ""])
            f.equal(list[0]["is_unread"], .null)
            let users = try await f.does("GET", "/users/\(f.user("ben"))\(f.path(conversation))/messages")
            f.equal(users.ids, list.ids)
            f.equal(users[0]["is_unread"], true)
        },
        ServerRule(
            53, "a message is read below its conversation, by its id alone, and as a user sees it; a deleted one is 404"
        ) { f in
            let conversation = try await conversation(f)
            let sent = try await f.send("hello", from: "ana", to: conversation)
            let id = Layer.last(sent["id"].string ?? "")
            for path in [f.path(sent, in: conversation), "/messages/\(id)", "/users/\(f.user("ben"))/messages/\(id)"] {
                f.equal(try await f.does("GET", path)["id"], sent["id"], path)
            }
            f.refused(try await f.call("GET", f.path(conversation) + "/messages/\(Layer.uuid())"), "not_found")
            try await f.does("DELETE", f.path(sent, in: conversation), status: 204)
            f.refused(try await f.call("GET", f.path(sent, in: conversation)), "not_found")
        },
        ServerRule(
            53,
            "a malformed id of a message is 400, also on behalf of a user, even an unknown one; below a malformed conversation it is 404"
        ) { f in
            let path = f.path(try await conversation(f))
            let (known, unknown) = ("/users/\(f.user("ana"))", "/users/\(f.user("nobody"))")
            for (method, path) in [
                ("GET", "\(path)/messages/wrong"), ("DELETE", "\(path)/messages/wrong"),
                ("GET", "\(path)/messages/wrong/parts"),
                ("GET", "\(path)/messages/wrong/parts/0"), ("GET", "/messages/wrong"), ("DELETE", "/messages/wrong"),
                ("GET", known + "/messages/wrong"),
                ("DELETE", unknown + "/messages/wrong?mode=all_participants"),
                ("GET", "\(known)\(path)/messages/wrong"),
                ("GET", known + "/messages/wrong/parts/0"),
            ] { f.refused(try await f.call(method, path), "invalid_request") }
            for user in [known, unknown] {
                f.refused(
                    try await f.call("POST", user + "/messages/wrong/receipts", ["type": "read"]), "invalid_request")
            }
            f.refused(try await f.call("DELETE", "/conversations/wrong/messages/wrong"), "not_found")
        },
        ServerRule(54, "a message is deleted for all, and then is 404; devices are told") { f in
            let ben = try await f.users.user("ben")
            let conversation = try await conversation(f)
            let socket = try await ben.socket()
            let sent = try await f.send("hello", from: "ana", to: conversation)
            try await socket.message("hello")
            try await f.does("DELETE", f.path(sent, in: conversation), status: 204)
            f.equal(
                try await socket.change("delete", "Message", sent["id"].string).data["mode"].string, "all_participants")
            f.refused(try await f.call("DELETE", f.path(sent, in: conversation)), "not_found")
        },
    ]

    private static let parts: [ServerRule] = [
        ServerRule(55, "the parts of a message are listed", [.v3]) { f in
            let (_, path) = try await partsPath(f)
            f.equal(try await f.does("GET", path).array?.count, 1)
        },
        ServerRule(56, "a part is read by its id", [.v3]) { f in
            let (_, path) = try await partsPath(f)
            let part = try await f.does("GET", path)[0]
            f.equal(try await f.does("GET", "\(path)/\(Layer.last(part["id"].string ?? ""))"), part)
            f.refused(try await f.call("GET", "\(path)/\(Layer.uuid())"), "not_found")
        },
        ServerRule(57, "a part is added: 201 with it", [.v3]) { f in
            let (message, path) = try await partsPath(f)
            let part = try await f.does("POST", path, ["mime_type": "text/plain", "body": "two"], status: 201)
            f.equal(part["body"].string, "two")
            let read = try await f.does("GET", message)
            f.equal(read["parts"].array?.count, 2)
            f.check(Layer.isTimestamp(read["updated_at"].string), "updated_at is \(read["updated_at"])")
        },
        ServerRule(58, "a part is replaced: 200 with it, under its id", [.v3]) { f in
            let (_, path) = try await partsPath(f)
            let id = try await f.does("GET", path)[0]["id"]
            let part = try await f.does(
                "PUT", "\(path)/\(Layer.last(id.string ?? ""))", ["mime_type": "text/plain", "body": "new"], status: 200
            )
            f.equal(part["id"], id)
            f.equal(part["body"].string, "new")
        },
        ServerRule(59, "all parts are replaced: 200 with them", [.v3]) { f in
            let (_, path) = try await partsPath(f)
            let parts: JSONValue = [
                ["mime_type": "text/plain", "body": "a"], ["mime_type": "text/plain", "body": "b"],
            ]
            f.equal(try await f.does("PUT", path, parts, status: 200).array?.count, 2)
        },
        ServerRule(60, "a part is removed: 204; the last one stays: 422", [.v3]) { f in
            let (_, path) = try await partsPath(f)
            let part = try await f.does("POST", path, ["mime_type": "text/plain", "body": "two"])
            try await f.does("DELETE", "\(path)/\(Layer.last(part["id"].string ?? ""))", status: 204)
            let last = try await f.does("GET", path)[0]["id"].string ?? ""
            f.check(
                try await f.call("DELETE", "\(path)/\(Layer.last(last))").status == 422, "the last part was removed")
        },
        ServerRule(61, "a receipt is given on behalf of a user: 204") { f in
            let conversation = try await conversation(f)
            let sent = try await f.send("hello", from: "ana", to: conversation)
            let path = "/users/\(f.user("ben"))/messages/\(Layer.last(sent["id"].string ?? ""))/receipts"
            for (kind, status) in [("delivery", "delivered"), ("read", "read")] {
                try await f.does("POST", path, ["type": .string(kind)], status: 204)
                f.equal(f.status(try await f.does("GET", f.path(sent, in: conversation)), f.user("ben")), status)
            }
        },
    ]

    private static func partsPath(_ f: ServerFixture) async throws -> (message: String, parts: String) {
        let conversation = try await conversation(f)
        let sent = try await f.send("one", from: "ana", to: conversation)
        let path = f.path(sent, in: conversation)
        return (path, path + "/parts")
    }
}
