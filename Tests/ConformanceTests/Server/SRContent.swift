// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules for rich content: parts of more than 2 KB.
enum SRContent {
    private static let bytes = Data(repeating: 7, count: 3000)

    private static func upload(
        _ f: ServerFixture, in conversation: JSONValue, by method: String = "PUT"
    ) async throws -> JSONValue {
        let content = try await announce(f, in: conversation)
        let url = try f.need(content["upload_url"].string, "upload_url")
        let headers = [
            "Authorization": "Bearer x", "Accept": "application/json", "If-None-Match": Layer.uuid(),
            "Content-Type": "image/png",
        ]
        let answer = try await f.users.client.call(
            method, String(url.dropFirst(f.system.publicURL.count)), data: bytes, headers: headers,
            deadline: Fixture.deadline)
        f.equal(answer.status, 200, "the upload")
        return content
    }

    private static func announce(_ f: ServerFixture, in conversation: JSONValue) async throws -> JSONValue {
        let headers = ["Upload-Content-Type": "image/png", "Upload-Content-Length": "\(bytes.count)"]
        return try await f.does("POST", f.path(conversation) + "/content", [:], status: 201, headers: headers)
    }

    private static func message(_ f: ServerFixture, _ id: String?, size: Int) -> JSONValue {
        var body = f.message("", from: "ana")
        body["parts"] = [
            ["mime_type": "image/png", "content": ["id": .string(id ?? ""), "size": .integer(Int64(size))]]
        ]
        return body
    }

    static let rules: [ServerRule] = [
        ServerRule(
            65, "content is announced for a conversation: 201 with its id, size and upload_url, also in Location"
        ) { f in
            let conversation = try await f.converse("ana", "ben")
            let headers = ["Upload-Content-Type": "image/png", "Upload-Content-Length": "3000"]
            let answer = try await f.call("POST", f.path(conversation) + "/content", [:], headers: headers)
            f.equal(answer.status, 201)
            f.equal(answer.json["size"].int, 3000)
            f.equal(answer.header("Location"), answer.json["upload_url"].string)
            f.equal(answer.json["download_url"], .null)
            f.check(answer.json["id"].string?.hasPrefix("layer:///content/") == true, "\(answer.json["id"])")
        },
        ServerRule(65, "without the type or the length it is 406 that names the header") { f in
            let conversation = try await f.converse("ana", "ben")
            for header in ["Upload-Content-Type", "Upload-Content-Length"] {
                var headers = ["Upload-Content-Type": "image/png", "Upload-Content-Length": "3000"]
                headers[header] = nil
                f.refused(
                    try await f.call("POST", f.path(conversation) + "/content", headers: headers), "invalid_header",
                    header: header)
            }
        },
        ServerRule(66, "the bytes are put to upload_url, whatever other headers there are") { f in
            _ = try await upload(f, in: try await f.converse("ana", "ben"))
        },
        ServerRule(66, "the bytes may also be posted to upload_url") { f in
            let conversation = try await f.converse("ana", "ben")
            let content = try await upload(f, in: conversation, by: "POST")
            let read = try await f.does(
                "GET", "\(f.path(conversation))/content/\(Layer.last(content["id"].string ?? ""))")
            let url = try f.need(read["download_url"].string, "download_url").dropFirst(f.system.publicURL.count)
            f.equal(try await f.users.client.call("GET", String(url), deadline: Fixture.deadline).body, bytes)
        },
        ServerRule(66, "bytes of another length than was announced are 400, and can be put again") { f in
            let content = try await announce(f, in: try await f.converse("ana", "ben"))
            let url = String(try f.need(content["upload_url"].string, "upload_url").dropFirst(f.system.publicURL.count))
            for data in [bytes.dropLast(), bytes + [7]] {
                let answer = try await f.users.client.call("PUT", url, data: Data(data), deadline: Fixture.deadline)
                f.equal("\(answer.status) \(answer.errorID ?? "")", "400 invalid_request")
            }
            f.equal(try await f.users.client.call("PUT", url, data: bytes, deadline: Fixture.deadline).status, 200)
        },
        ServerRule(67, "a message refers to content; unknown content and that of another conversation are 422") { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let other = try await f.converse("ana", "ben")
            let id = try await upload(f, in: conversation)["id"].string
            let path = f.path(conversation) + "/messages"
            f.equal(
                try await f.call("POST", path, message(f, "layer:///content/\(Layer.uuid())", size: 3000)).errorID,
                "invalid_property")
            let elsewhere = f.path(other) + "/messages"
            f.equal(try await f.call("POST", elsewhere, message(f, id, size: 3000)).errorID, "invalid_property")
            let sent = try await f.does("POST", path, message(f, id, size: 3000), status: 201)
            let read = try await f.does("GET", f.path(sent, in: conversation))
            f.equal(read["parts"][0]["content"]["id"].string, id)
            // Content that the sender already has in a message is refused as well.
            f.equal(try await f.call("POST", elsewhere, message(f, id, size: 3000)).errorID, "invalid_property")
        },
        ServerRule(67, "a size of content that is not the one of its upload is 422") { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let id = try await upload(f, in: conversation)["id"].string
            let path = f.path(conversation) + "/messages"
            for size in [0, 2999, 3001] {
                f.refused(
                    try await f.call("POST", path, message(f, id, size: size)), "invalid_property",
                    property: "parts.0.content")
            }
            f.equal(try await f.does("GET", path), [])
            try await f.does("POST", path, message(f, id, size: 3000), status: 201)
        },
        ServerRule(
            68, "reading content gives a fresh download_url, which needs no header; what was not uploaded is 404"
        ) { f in
            let conversation = try await f.converse("ana", "ben")
            let content = try await upload(f, in: conversation)
            let path = f.path(conversation) + "/content/"
            let read = try await f.does("GET", path + Layer.last(content["id"].string ?? ""))
            let url = try f.need(read["download_url"].string, "download_url")
            let answer = try await f.users.client.call(
                "GET", String(url.dropFirst(f.system.publicURL.count)), headers: ["Accept": ""],
                deadline: Fixture.deadline)
            f.equal(answer.body, bytes)
            f.check(Layer.isTimestamp(read["expiration"].string), "expiration \(read["expiration"])")
            let absent = try await announce(f, in: conversation)
            f.refused(try await f.call("GET", path + Layer.last(absent["id"].string ?? "")), "not_found")
        },
        ServerRule(69, "devices are told of a part that has content, and not of its bytes") { f in
            let ben = try await f.users.user("ben")
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let socket = try await ben.socket()
            try await socket.change("create", "Conversation", conversation["id"].string)
            let id = try await upload(f, in: conversation)["id"].string
            let sent = try await f.does("POST", f.path(conversation) + "/messages", message(f, id, size: 3000))
            let part = try await socket.change("create", "Message", sent["id"].string).data["parts"][0]
            f.equal(part["content"]["id"].string, id)
            f.equal(part["body"], .null)
        },
    ]
}
