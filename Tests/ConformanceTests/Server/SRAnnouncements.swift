// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules for announcements, notifications, and the Client API on behalf of users.
enum SRAnnouncements {
    private static let parts: JSONValue = [["mime_type": "text/plain", "body": "news"]]

    private static func announcement(_ f: ServerFixture, to names: String...) -> JSONValue {
        var body: JSONValue = ["recipients": .array(names.map { f.reference(f.user($0)) }), "parts": parts]
        if f.isOld {
            body["sender"] = ["name": "Support"]
        } else {
            body["sender_id"] = .string(Layer.identity(f.user("ana")))
        }
        return body
    }

    static let rules: [ServerRule] = [
        ServerRule(70, "an announcement is 202 with it, and each recipient is told of it") { f in
            let ben = try await f.users.user("ben")
            let socket = try await ben.socket()
            try await f.identify("ana")
            let answer = try await f.does("POST", "/announcements", announcement(f, to: "ben", "cleo"), status: 202)
            f.check(answer["id"].string?.hasPrefix("layer:///announcements/") == true, "\(answer["id"])")
            let packet = try await socket.change("create", "Announcement", answer["id"].string)
            f.equal(packet.data["parts"][0]["body"].string, "news")
        },
        ServerRule(70, "text that came as base64 is answered as text, without an encoding") { f in
            try await f.identify("ana")
            var body = announcement(f, to: "ben")
            body["parts"] = [["mime_type": "text/plain", "body": "aGVsbG8=", "encoding": "base64"]]
            let part = try await f.does("POST", "/announcements", body, status: 202)["parts"][0]
            f.equal(part["body"].string, "hello")
            f.equal(part.object?["encoding"], f.isOld ? nil : .null)
        },
        ServerRule(
            70,
            "without recipients it is 422 missing_property; for everyone, or with a body of more than 2,048 bytes, 422"
        ) { f in
            try await f.identify("ana")
            var body = announcement(f, to: "ben")
            body["recipients"] = nil
            f.refused(try await f.call("POST", "/announcements", body), "missing_property", property: "recipients")
            body["recipients"] = "everyone"
            f.refused(try await f.call("POST", "/announcements", body), "invalid_property", property: "recipients")
            var large = announcement(f, to: "ben")
            large["parts"] = [["mime_type": "text/plain", "body": .string(String(repeating: "x", count: 2049))]]
            f.equal(try await f.call("POST", "/announcements", large).errorID, "invalid_property")
        },
        ServerRule(
            70, "how many recipients an announcement may have can be set",
            except:
                "it may have as many as its body holds, which has at most 1 MB as every other: some tens of thousands, and never more than 100,000."
        ),
        ServerRule(
            71, "a notification without recipients or without a notification, or with neither text nor data, is 422",
            ServerAPIVersion.new
        ) {
            f in
            try await f.identify("ana")
            let recipients: JSONValue = [f.reference(f.user("ana"))]
            f.refused(
                try await f.call("POST", "/notifications", ["recipients": recipients]), "missing_property",
                property: "notification")
            f.refused(
                try await f.call("POST", "/notifications", ["notification": ["text": "x"]]), "missing_property",
                property: "recipients")
            f.equal(
                try await f.call("POST", "/notifications", ["recipients": recipients, "notification": [:]]).status, 422)
        },
        ServerRule(
            71, "a notification is pushed to the devices of its recipients", ServerAPIVersion.new,
            except:
                "the server sends no pushes: a webhook that takes Push is told, and without one the answer is 422 invalid_operation."
        ),
        ServerRule(75, "a path of the Client API below a user's is answered as to that user", ServerAPIVersion.new) {
            f in
            let ana = try await f.users.user("ana")
            let id = try await ana.converse([Layer.identity(f.user("ben"))])
            try await ana.send("hello", to: id)
            let path = "/users/\(f.user("ana"))"
            f.equal(try await f.does("GET", path + Layer.path(id))["id"].string, id)
            f.equal(try await f.does("GET", path + Layer.path(id) + "/messages").array?.count, 1)
            f.equal(try await f.does("GET", path + "/announcements"), [])
            let created = try await f.does(
                "POST", path + "/conversations",
                ["participants": [.string(Layer.identity(f.user("cleo")))], "distinct": false], status: 201)
            f.equal(try await ana.load(created["id"].string ?? "")["id"], created["id"])
        },
        ServerRule(
            76, "URLs there lead below the user's path; a user who was never heard of is 404", ServerAPIVersion.new
        ) { f in
            let ana = try await f.users.user("ana")
            let id = try await ana.converse([Layer.identity(f.user("ben"))])
            let read = try await f.does("GET", "/users/\(f.user("ana"))\(Layer.path(id))")
            f.equal(read["url"].string, "\(f.base)/users/\(f.user("ana"))\(Layer.path(id))")
            f.refused(try await f.call("GET", "/users/\(f.user("nobody"))/conversations"), "not_found")
        },
        ServerRule(77, "the paths of users' own data are the server's and not the Client API's") { f in
            try await f.identify("ana")
            f.equal(try await f.call("GET", "/users/\(f.user("ana"))/identity").status, 200)
            f.equal(try await f.call("GET", "/users/\(f.user("ana"))/badge").status, 200)
        },
    ]
}
