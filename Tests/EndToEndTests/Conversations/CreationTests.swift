// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("creating conversations")
    struct CreationTests {
        enum Transport: String, CaseIterable, Sendable { case rest, socket }

        /// The result of a creation. `status` is nil over a socket.
        struct Outcome {
            let isSuccess: Bool
            let status: Int?
            let errorID: String?
            /// The conversation, or the `data` of the error.
            let object: JSONValue
        }

        private func create(_ body: JSONValue, by user: TestUser, over transport: Transport) async throws -> Outcome {
            switch transport {
            case .rest:
                let answer = try await user.call("POST", "/conversations", body)
                let object = answer.isSuccess ? answer.json : answer.json["data"]
                return Outcome(
                    isSuccess: answer.isSuccess, status: answer.status, errorID: answer.errorID, object: object)
            case .socket:
                let socket = try await user.open()
                let answer = try await socket.ask("Conversation.create", nil, body)
                await socket.close()
                let object = answer.isSuccess ? answer.data : answer.data["data"]
                return Outcome(isSuccess: answer.isSuccess, status: nil, errorID: answer.errorID, object: object)
            }
        }

        @Test(
            "one distinct conversation exists per participant set; other metadata is a conflict",
            arguments: Transport.allCases)
        func distinct(_ transport: Transport) async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let (ana, ben) = (users[0], users[1])
            let metadata: JSONValue = ["title": "Weekend", "trip": ["city": "Porto"]]
            let first = try await create(
                ["participants": [.string(ben.identity)], "metadata": metadata], by: ana, over: transport)
            #expect(first.isSuccess)
            #expect(first.status == nil || first.status == 201)
            #expect(first.object["distinct"].bool == true)
            let id = try #require(first.object["id"].string)
            for body in [
                ["participants": [.string(ana.identity)]],
                ["participants": [.string(ana.identity)], "metadata": metadata],
            ] as [JSONValue] {
                let found = try await create(body, by: ben, over: transport)
                #expect(found.isSuccess)
                #expect(found.status == nil || found.status == 200)
                #expect(found.object["id"].string == id)
                #expect(found.object["metadata"] == metadata)
            }
            let conflict = try await create(
                ["participants": [.string(ana.identity)], "metadata": ["title": "Other"]], by: ben, over: transport)
            #expect(conflict.errorID == "conflict")
            #expect(conflict.status == nil || conflict.status == 409)
            #expect(conflict.object["id"].string == id)
            #expect(conflict.object["metadata"] == metadata)
            let other = try await create(
                ["participants": [.string(ana.identity)], "distinct": false], by: ben, over: transport)
            #expect(other.isSuccess)
            #expect(other.object["id"].string != id)
            #expect(other.object["distinct"].bool == false)
        }

        @Test(
            "a creation repeated by id returns the current conversation; a non-participant learns nothing",
            arguments: Transport.allCases)
        func idInUse(_ transport: Transport) async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben", "cleo"])
            let id = Conversation.newID()
            let body: JSONValue = [
                "id": .string(id), "participants": [.string(users[1].identity)], "metadata": ["a": "1"],
            ]
            let first = try await create(body, by: users[0], over: transport)
            #expect(first.object["id"].string == id)
            try await users[1].patch(Conversation(id: id), set("metadata.a", "2"))
            let again = try await create(body, by: users[0], over: transport)
            #expect(again.errorID == "id_in_use")
            #expect(again.object["id"].string == id)
            #expect(again.object["metadata"] == ["a": "2"])
            let stranger = try await create(body, by: users[2], over: transport)
            #expect(stranger.errorID == "id_in_use")
            #expect(stranger.object == [:])
        }

        @Test(
            "two users who create the same distinct conversation concurrently get one conversation",
            arguments: [true, false])
        func race(withEqualMetadata isEqual: Bool) async throws {
            let users = try await Cluster.shared().app().signIn((0..<16).map { "user\($0)" })
            for pair in 0..<8 {
                let (ana, ben) = (users[pair * 2], users[pair * 2 + 1])
                async let first = ana.call(
                    "POST", "/conversations", ["participants": [.string(ben.identity)], "metadata": ["by": "ana"]])
                async let second = ben.call(
                    "POST", "/conversations",
                    ["participants": [.string(ana.identity)], "metadata": ["by": isEqual ? "ana" : "ben"]])
                let answers = try await [first, second].sorted { $0.status < $1.status }
                #expect(answers.map(\.status) == (isEqual ? [200, 201] : [201, 409]))
                let ids = Set(answers.map { $0.isSuccess ? $0.json["id"].string : $0.json["data"]["id"].string })
                #expect(ids.count == 1)
                let list = try await ana.does("GET", "/conversations")
                #expect(list.header("Layer-Count") == "1")
            }
        }

        @Test("the response to a creation precedes the change it caused")
        func responseFirst() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let socket = try await users[0].open()
            for round in 0..<10 {
                let created = try await socket.ask(
                    "Conversation.create", nil, ["participants": [.string(users[1].identity)], "distinct": false])
                let id = try #require(created.data["id"].string)
                let change = try await socket.change("create", "Conversation", id)
                #expect(created.packet.index < change.index)
                let sent = try await socket.ask("Message.create", id, TestUser.message("message \(round)"))
                let message = try await socket.change("create", "Message", sent.data["id"].string)
                #expect(sent.packet.index < message.index)
                let update = try await socket.change("update", "Conversation", id) {
                    $0.has("set", property: "last_message")
                }
                #expect(message.index < update.index)
            }
            #expect(socket.faults == [])
        }
    }
}
