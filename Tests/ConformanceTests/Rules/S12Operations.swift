// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 12.5 and 12.6: operations and typing.
extension S12Changes {
    // MARK: 12.5

    static let operations: [Rule] = [
        Rule("12.5", "mark_all_read is an operation packet to all, with a number as position and the reader's identity")
        { f in
            let scene = try await Scene(f)
            try await scene.sent("1")
            let last = try await scene.sent("2")
            try await scene.ben.does("POST", Layer.path(scene.conversation) + "/mark_all_read", [:])
            for socket in scene.all {
                let packet = try await socket.nextPacket("the operation", deadline: Fixture.deadline) {
                    $0.type == "operation"
                }
                f.equal(packet.body["method"], "Conversation.mark_all_read")
                f.equal(
                    packet.body["object"],
                    [
                        "type": "Conversation", "id": .string(scene.conversation),
                        "url": .string(f.system.publicURL + Layer.path(scene.conversation)),
                    ])
                f.equal(packet.data["identity"]["id"].string, scene.ben.id)
                f.check(
                    (packet.data["position"].int ?? -1) >= (try await scene.ana.load(last)["position"].int ?? 0),
                    "\(packet.data)")
            }
        },
        Rule("12.5", "the position is the one that was asked for, or of the last message up to it") { f in
            let scene = try await Scene(f)
            let first = try await scene.ana.load(try await scene.sent("1"))["position"].int ?? 0
            let second = try await scene.ana.load(try await scene.sent("2"))["position"].int ?? 0
            try await scene.ben.does(
                "POST", Layer.path(scene.conversation) + "/mark_all_read", ["position": .integer(Int64(first + 1))])
            let packet = try await scene.acting.nextPacket("the operation", deadline: Fixture.deadline) {
                $0.type == "operation"
            }
            let position = packet.data["position"].int ?? -1
            f.check((first..<second).contains(position), "\(position)")
        },
        Rule("12.5", "mark_all_read without effect sends nothing") { f in
            let scene = try await Scene(f)
            let seen = try await scene.seen {
                try await scene.ben.does("POST", Layer.path(scene.conversation) + "/mark_all_read", [:])
            }
            for packets in seen { f.equal(packets.map(\.summary), []) }
        },
    ]

    // MARK: 12.6

    static let typing: [Rule] = [
        Rule("12.6", "started, paused and finished reach every other participant's sockets, with the typist as sender")
        { f in
            let scene = try await Scene(f)
            try await scene.sent("all have joined the conversation")
            for action in ["started", "paused", "finished"] {
                try await scene.acting.typing(action, in: scene.conversation)
                for socket in [scene.other, scene.otherToo] {
                    let packet = try await socket.typingSeen(action, in: scene.conversation)
                    f.equal(packet.body["type"], "typing_indicator")
                    f.equal(packet.body["object"]["type"], "Conversation")
                    f.equal(packet.body["object"]["url"].string, f.system.publicURL + Layer.path(scene.conversation))
                    f.equal(packet.data["sender"]["id"].string, scene.ana.id)
                    f.equal(packet.data["action"].string, action)
                }
            }
        },
        Rule("12.6", "a signal with a request_id is confirmed with success, one without is not answered") { f in
            let scene = try await Scene(f)
            try await scene.sent("all have joined the conversation")
            let body: JSONValue = [
                "type": "typing_indicator", "request_id": "t1", "object": ["id": .string(scene.conversation)],
                "data": ["action": "started"],
            ]
            try await scene.acting.sendPacket(["type": "signal", "body": body])
            let answer = try await scene.acting.nextPacket("the confirmation", deadline: Fixture.deadline) {
                $0.requestID == "t1"
            }
            f.equal(answer.body["success"], true)
            let count = scene.acting.receivedCount
            try await scene.acting.typing("finished", in: scene.conversation)
            try await scene.other.typingSeen("finished", in: scene.conversation)
            f.equal(scene.acting.packets(from: count).filter { $0.type == "response" }.map(\.summary), [])
        },
        Rule("12.6", "typing of a user who is no participant is dropped") { f in
            let scene = try await Scene(f)
            let cleo = try await f.user("cleo")
            let socket = try await cleo.socket()
            let seen = try await scene.seen {
                try await socket.typing("started", in: scene.conversation)
                try await socket.does("Counter.read")
            }
            for packets in seen { f.equal(packets.map(\.summary), []) }
        },
        Rule("12.6", "an action that is none is dropped") { f in
            let scene = try await Scene(f)
            let socket = try await scene.ana.socket()
            let start = scene.other.receivedCount
            try await socket.typing("dancing", in: scene.conversation)
            f.check(try await socket.ask("Counter.read").isSuccess, "the socket does not go on")
            try await scene.sent("x")
            f.check(!scene.other.packets(from: start).contains { $0.type == "signal" }, "a signal")
        },
        Rule("12.6", "a signal of an unknown type is dropped, and the socket goes on") { f in
            let scene = try await Scene(f)
            let socket = try await scene.ana.socket()
            let start = scene.other.receivedCount
            let object: JSONValue = ["id": .string(scene.conversation)]
            for body in [["type": "wave"], ["type": "wave", "object": object, "data": ["action": "started"]]]
                as [JSONValue]
            {
                try await socket.sendPacket(["type": "signal", "body": body])
            }
            f.check(try await socket.ask("Counter.read").isSuccess, "the socket does not go on")
            try await scene.sent("x")
            f.check(!scene.other.packets(from: start).contains { $0.type == "signal" }, "a signal")
        },
        Rule("12.6", "typing is not replayed and not told to those who come later") { f in
            let scene = try await Scene(f)
            try await scene.startTyping()
            let later = try await scene.ben.silentSocket()
            try await later.does("Event.replay", nil, ["from_timestamp": "2019-01-01T00:00:00.000Z"])
            f.check(!later.history.contains { $0.type == "signal" }, "a signal")
        },
        Rule(
            "12.6", "a started that is not renewed becomes paused after 10 seconds, finished after 10 more", slow: true
        ) { f in
            let scene = try await Scene(f)
            let started = try await scene.startTyping()
            let paused = try await scene.other.typingSeen("paused", in: scene.conversation)
            let finished = try await scene.other.typingSeen("finished", in: scene.conversation)
            f.check(started.receivedAt.duration(to: paused.receivedAt) > .seconds(9), "paused too soon")
            f.check(started.receivedAt.duration(to: finished.receivedAt) > .seconds(18), "finished too soon")
            try await scene.sent("x")
            // "started" may occur twice, if the first signal came too early for Ben's other socket.
            let signals = scene.other.history.filter { $0.type == "signal" }.map(\.summary)
                .drop { $0 == "signal started" }
            f.equal(Array(signals), ["signal paused", "signal finished"])
        },
        Rule("12.6", "typing ends by the server although the typist's last socket is gone", slow: true) { f in
            let scene = try await Scene(f)
            try await scene.startTyping()
            await scene.acting.abort()
            await scene.own.abort()
            for action in ["paused", "finished"] { try await scene.other.typingSeen(action, in: scene.conversation) }
        },
        Rule("12.6", "a started that is renewed does not become paused", slow: true) { f in
            let scene = try await Scene(f)
            let first = try await scene.startTyping()
            // Clients renew every 2.5 s. There is no event to wait for.
            for _ in 0..<5 {
                try await Task.sleep(for: .milliseconds(2500))
                try await scene.acting.typing("started", in: scene.conversation)
                try await scene.other.typingSeen("started", in: scene.conversation)
            }
            f.check(first.receivedAt.duration(to: .now) > .seconds(12), "too short")
            f.check(!scene.other.history.contains { $0.isTyping("paused") }, "paused")
        },
    ]
}
