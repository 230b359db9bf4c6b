// SPDX-License-Identifier: Apache-2.0

import LocalServers
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Bounds on queued data. Each test blocks its system and therefore has its own.
    @Suite("limits of queues")
    struct ByteLimitTests {
        /// Returns a message with parts of about `bytes` bytes in total.
        private static func message(_ text: String, bytes: Int) -> JSONValue {
            var parts: [JSONValue] = [["mime_type": "text/plain", "body": .string(text)]]
            let filling = String(repeating: "x", count: 2000)
            for _ in 0..<(bytes / 2000) { parts.append(["mime_type": "text/plain", "body": .string(filling)]) }
            return ["parts": .array(parts)]
        }

        @Test(
            "one socket's pending requests are limited in bytes: excess requests are refused at once, and earlier ones are answered"
        )
        func socketRequests() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_SOCKET_REQUEST_BYTES": "65536"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let socket = try await users[0].open()
                let conversation = try await users[0].converse(with: [users[1]])
                try await socket.change("create", "Conversation", conversation.id)
                await cluster.postgres.suspend()
                let first = Task {
                    try await socket.ask("Message.create", conversation.id, Self.message("first", bytes: 40_000))
                }
                let gateway = cluster.instances(of: .gateway)[0]
                try await eventually("the first one waits") {
                    try await gateway.metric("strata_gateway_socket_request_bytes") > 40_000
                }
                let refused = try await socket.ask(
                    "Message.create", conversation.id, Self.message("second", bytes: 40_000))
                #expect(refused.errorID == "service_unavailable")
                #expect(try await gateway.metric("strata_gateway_socket_request_bytes") <= 65_536)
                #expect(try await gateway.metric("strata_gateway_refused_requests_total", #"by="socket""#) == 1)
                // A request that needs no service is still answered.
                #expect(try await socket.ask("Counter.read").isSuccess)
                await cluster.postgres.resume()
                #expect(try await first.value.isSuccess)
                try await eventually("nothing waits any more") {
                    try await gateway.metric("strata_gateway_socket_request_bytes") == 0
                }
                #expect(
                    try await socket.ask("Message.create", conversation.id, Self.message("third", bytes: 40_000))
                        .isSuccess)
                #expect(socket.faults == [])
            }
        }

        @Test(
            "one socket's pending requests are limited in number: excess requests are refused at once, and earlier ones are answered"
        )
        func socketRequestCount() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_SOCKET_REQUESTS": "4"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let socket = try await users[0].open()
                let conversation = try await users[0].converse(with: [users[1]])
                try await socket.change("create", "Conversation", conversation.id)
                await cluster.postgres.suspend()
                let answers = (0..<7)
                    .map { index in
                        Task {
                            try await socket.ask(
                                "Message.create", conversation.id, Self.message("message \(index)", bytes: 0))
                        }
                    }
                let gateway = cluster.instances(of: .gateway)[0]
                try await eventually("those over it are refused") {
                    try await gateway.metric("strata_gateway_refused_requests_total", #"by="socket""#) == 3
                }
                await cluster.postgres.resume()
                var outcomes: [String: Int] = [:]
                for answer in answers { outcomes[try await answer.value.errorID ?? "ok", default: 0] += 1 }
                #expect(outcomes == ["ok": 4, "service_unavailable": 3])
                #expect(
                    try await socket.ask("Message.create", conversation.id, Self.message("afterwards", bytes: 0))
                        .isSuccess)
                #expect(socket.faults == [])
            }
        }

        @Test("the bodies of all REST requests share a byte limit, from the first byte")
        func bodies() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_REQUEST_BYTES": "\(32 << 20)"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[0].converse(with: [users[1]])
                let gateway = cluster.instances(of: .gateway)[0]
                // All requests come from one address, which may use a quarter of the budget. Each omits the end of its
                // body.
                let (missing, whole) = (1000, 1_000_000)
                let head = """
                    POST \(conversation.path)/messages HTTP/1.1\r\nHost: localhost\r\nAccept: application/vnd.layer+json; version=3.0\r\n\
                    Content-Type: application/json\r\nAuthorization: Layer session-token="\(users[0].token)"\r\nContent-Length: \(whole)\r\n\r\n
                    """
                let body = Self.message("slow", bytes: 40_000).text
                let padding = String(repeating: " ", count: whole - missing - body.utf8.count)
                var slow: [RawConnection] = []
                for _ in 0..<8 {
                    let connection = try await RawConnection.open(port: cluster.port)
                    await connection.send(Array((head + body + padding).utf8))
                    slow.append(connection)
                }
                let held = Double(8 * (whole - missing))
                try await eventually("they are counted") {
                    try await gateway.metric("strata_gateway_input_bytes") >= held
                }
                let large = try await users[1]
                    .call("POST", conversation.path + "/messages", Self.message("large", bytes: 400_000))
                #expect(large.status == 503)
                #expect(large.errorID == "service_unavailable")
                #expect(large.header("Retry-After") != nil)
                #expect(try await gateway.metric("strata_gateway_refused_requests_total", #"by="input_bytes""#) == 1)
                // Short requests still fit.
                try await users[1].send("short", to: conversation)
                for connection in slow { await connection.send(Array(repeating: 0x20, count: missing)) }
                for connection in slow {
                    guard case .value(let answer) = await connection.answer(within: Waiting.limit) else {
                        throw Problem("a slow request was not answered")
                    }
                    #expect(answer.status == 201 || answer.status == 503)
                }
                try await eventually("nothing is held any more") {
                    try await gateway.metric("strata_gateway_input_bytes") == 0
                }
                try await users[1].does("POST", conversation.path + "/messages", Self.message("large", bytes: 100_000))
            }
        }

        @Test(
            "statements waiting for a hanging PostgreSQL are limited: excess statements fail at once, and all succeed when it resumes"
        )
        func postgresQueue() async throws {
            try await Cluster.with(
                Cluster.Size(settings: ["STRATA_POSTGRES_QUEUE": "8", "STRATA_POSTGRES_CONNECTIONS": "2"])
            ) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[0].converse(with: [users[1]])
                let socket = try await users[0].open()
                let service = cluster.instances(of: .conversations)[0]
                await cluster.postgres.suspend()
                let answers = ObservedState(0)
                let calls = (0..<300)
                    .map { number in
                        Task {
                            let answer = try await users[number % 2]
                                .call("POST", conversation.path + "/messages", TestUser.message("\(number)"))
                            answers.change { $0 += 1 }
                            return answer
                        }
                    }
                // While the database hangs, some calls are refused by the bound. The others end at their deadline.
                try await eventually("some are refused") {
                    try await service.metric("strata_postgres_refused_total") > 0
                }
                #expect(try await service.metric("strata_postgres_queue_depth", #"pool="strata-conversations""#) <= 8)
                #expect(await answers.first(within: Waiting.limit) { $0 > 0 ? true : nil } == true)
                await cluster.postgres.resume()
                for call in calls {
                    let answer = try await call.value
                    #expect(answer.isSuccess || answer.status == 503, "\(answer.status) \(answer.json)")
                    if answer.status == 503 { #expect(answer.header("Retry-After") != nil) }
                }
                try await eventually("all is well again") {
                    try await users[0].call("GET", conversation.path).isSuccess
                }
                try await users[0].send("again", to: conversation)
                try await socket.message("again")
            }
        }

        @Test(
            "publications waiting for a hanging Redis are limited and counted; writes continue, and unpublished changes are found"
        )
        func redisQueue() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_REDIS_QUEUE": "4"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let socket = try await users[1].open()
                let conversation = try await users[0].converse(with: [users[1]])
                try await socket.change("create", "Conversation", conversation.id)
                let service = cluster.instances(of: .conversations)[0]
                await cluster.redis.suspend()
                // If the connection is silent for too long, it is closed and its queue discarded. Therefore check after
                // each message.
                var (waits, most) = (false, 0.0)
                for number in 0..<12 {
                    try await users[0].send("message \(number)", to: conversation)
                    most = max(most, try await service.metric("strata_redis_queued_commands"))
                    let bytes = try await service.metric("strata_redis_queued_bytes")
                    waits = waits || bytes > 0
                }
                #expect(waits && most <= 4)
                #expect(try await service.metric("strata_redis_refused_commands_total") > 0)
                #expect(try await service.metric("strata_redis_dropped_publishes_total") > 0)
                for number in 0..<12 { try await socket.message("message \(number)") }
                await cluster.redis.resume()
                try await users[0].send("end", to: conversation)
                try await socket.message("end")
                #expect(socket.faults == [])
            }
        }
    }
}
