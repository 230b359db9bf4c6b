// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Bounds on connections. Each test fills its system and therefore has its own.
    @Suite("limits of connections")
    struct ConnectionLimitTests {
        @Test(
            "new connections over the process's limit are refused with a retry, open ones continue, and closed ones free capacity"
        )
        func process() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_CONNECTIONS": "40"])) { cluster in
                let crowd = try await Crowd.fill(cluster, atMost: 60, patience: Waiting.limit)
                #expect((20..<40).contains(crowd.sockets.count))
                let gateway = cluster.instances(of: .gateway)[0]
                #expect(try await gateway.metric("strata_gateway_connections") == 40)
                #expect(try await gateway.metric("strata_gateway_refused_connections_total", #"by="process""#) >= 1)
                #expect(gateway.lines(containing: "refusing new connections").count == 1)
                #expect(
                    gateway.lines(containing: "refusing new connections")
                        .allSatisfy { $0.contains("STRATA_CONNECTIONS") })
                // A refused connection without a WebSocket gets the same error, with the time for a retry.
                let raw = try await RawConnection.open(port: cluster.port)
                await raw.send(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                let answer = await raw.answer(within: Waiting.limit)
                guard case .value(let refusal) = answer else { throw Problem("refused without a word: \(answer)") }
                #expect(refusal.status == 503)
                #expect(String(decoding: refusal.body, as: UTF8.self).contains("service_unavailable"))
                try await crowd.expectDelivery(of: "full")
                try await crowd.leave(6)
                try await eventually("there is room again") { (try? await crowd.join()) != nil }
                #expect(gateway.lines(containing: "accepting new connections again").count == 1)
                try await crowd.expectDelivery(of: "room again")
            }
        }

        @Test("connections over the limit of one address are refused, and those of other addresses are accepted")
        func address() async throws {
            let settings = ["STRATA_CONNECTIONS_PER_ADDRESS": "3", "STRATA_TRUSTED_PROXIES": "1"]
            try await Cluster.with(Cluster.Size(settings: settings)) { cluster in
                let user = try await cluster.app().signIn("ana")
                func open(_ address: String) async throws -> ProtocolSocket {
                    var options = ProtocolSocket.Options()
                    options.headers = ["X-Forwarded-For": address]
                    return try await user.client.openSocket(
                        sessionToken: user.token, options: options, deadline: Waiting.deadline)
                }
                var sockets: [ProtocolSocket] = []
                for _ in 0..<3 { sockets.append(try await open("10.0.0.1")) }
                let refusal = await #expect(throws: ProtocolClientError.self) { _ = try await open("10.0.0.1") }
                #expect(refusal?.answer?.status == 503)
                #expect(refusal?.answer?.errorID == "service_unavailable")
                #expect(refusal?.answer?.header("Retry-After") != nil)
                _ = try await open("10.0.0.2")
                let gateway = cluster.instances(of: .gateway)[0]
                #expect(try await gateway.metric("strata_gateway_refused_connections_total", #"by="address""#) == 1)
                for socket in sockets { #expect(try await socket.ask("Counter.read").isSuccess) }
                await sockets.removeLast().close()
                try await eventually("there is room again") { (try? await open("10.0.0.1")) != nil }
            }
        }

        @Test("sockets open and receive publications on every event loop, also beyond the 64th")
        func loops() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_EVENT_LOOP_THREADS": "70"])) { cluster in
                // Connections are assigned to the loops in turn.
                let crowd = try await Crowd.of(75, cluster)
                try await crowd.expectDelivery(of: "everywhere")
            }
        }

        @Test("without a proxy, the client address is that of the connection")
        func peer() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_CONNECTIONS_PER_ADDRESS": "30"])) { cluster in
                let crowd = try await Crowd.fill(cluster, atMost: 60)
                #expect((10..<30).contains(crowd.sockets.count))
                let gateway = cluster.instances(of: .gateway)[0]
                #expect(try await gateway.metric("strata_gateway_refused_connections_total", #"by="address""#) >= 1)
                try await crowd.expectDelivery(of: "full")
                try await crowd.leave(2)
                try await eventually("there is room again") { (try? await crowd.join()) != nil }
            }
        }

        @Test("a gateway reserves descriptors for itself and then refuses new connections")
        func reserve() async throws {
            try await Cluster.with(Cluster.Size(openFiles: [.gateway: 160])) { cluster in
                let crowd = try await Crowd.fill(cluster, atMost: 160)
                let gateway = cluster.instances(of: .gateway)[0]
                #expect(try await gateway.metric("process_max_fds") == 160)
                #expect(try await gateway.metric("strata_gateway_connections_limit") == 96)
                #expect(try await gateway.metric("strata_gateway_connections") == 96)
                #expect(try await gateway.metric("strata_gateway_refused_connections_total", #"by="process""#) >= 1)
                #expect(try await gateway.metric("strata_process_accept_failures_total") == 0)
                #expect(try await gateway.health("/health/ready") == 200)
                try await crowd.expectDelivery(of: "full")
                try await crowd.leave(12)
                try await eventually("there is room again") { (try? await crowd.join()) != nil }
            }
        }

        @Test(
            "a gateway without descriptors still serves existing sockets, reports the shortage, and accepts connections when descriptors are free"
        )
        func outOfDescriptors() async throws {
            // The connection limit exceeds the limit of open files. Operators should not set this.
            try await Cluster.with(Cluster.Size(settings: ["STRATA_CONNECTIONS": "10000"], openFiles: [.gateway: 120]))
            { cluster in
                let crowd = try await Crowd.fill(cluster, atMost: 120)
                let gateway = cluster.instances(of: .gateway)[0]
                try await eventually("the limit is named") {
                    gateway.lines(containing: "connections cannot be accepted").count >= 1
                }
                #expect(
                    gateway.lines(containing: "connections cannot be accepted")
                        .allSatisfy { $0.contains("RLIMIT_NOFILE") })
                try await crowd.expectDelivery(of: "out of descriptors")
                try await crowd.leave(10)
                try await eventually("there is room again") { (try? await crowd.join()) != nil }
                try await eventually("and it says so") {
                    !gateway.lines(containing: "accepting connections again").isEmpty
                }
                #expect(try await gateway.metric("strata_process_accept_failures_total", #"listener="clients""#) >= 1)
                // One line at the beginning and one at the end, regardless of the number of attempts.
                #expect(gateway.lines(containing: "connections cannot be accepted").count <= 3)
                try await crowd.expectDelivery(of: "room again")
            }
        }

        @Test("a service without descriptors still serves existing callers, and recovers when descriptors are free")
        func serviceOutOfDescriptors() async throws {
            try await Cluster.with(Cluster.Size(openFiles: [.conversations: 130])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let socket = try await users[1].open()
                let conversation = try await users[0].converse(with: [users[1]])
                let service = cluster.instances(of: .conversations)[0]
                var strangers: [RawConnection] = []
                // The service port has a connection limit below the number of descriptors.
                for _ in 0..<100 { strangers.append(try await RawConnection.open(port: service.port)) }
                try await eventually("strangers are refused") {
                    try await service.metric("strata_rpc_server_refused_connections_total") >= 1
                }
                try await users[0].send("beside strangers", to: conversation)
                try await socket.message("beside strangers")
                // The admin port has its own limit. Use it to exhaust the descriptors.
                for _ in 0..<100 { strangers.append(try await RawConnection.open(port: service.adminPort)) }
                try await eventually("the limit is named") {
                    !service.lines(containing: "connections cannot be accepted").isEmpty
                }
                for number in 0..<5 { try await users[0].send("without descriptors \(number)", to: conversation) }
                try await socket.message("without descriptors 4")
                for stranger in strangers { await stranger.close() }
                try await eventually("it is well again") { (try? await service.health("/health/ready")) == 200 }
                try await users[0].send("again", to: conversation)
                try await socket.message("again")
                #expect(socket.faults == [])
            }
        }
    }
}

/// Ana with one socket, and Ben with as many as a gateway accepts.
private final class Crowd {
    private let ana: ProtocolSocket
    private let ben: TestUser
    private let conversation: Conversation
    private(set) var sockets: [ProtocolSocket] = []

    private init(ana: ProtocolSocket, ben: TestUser, conversation: Conversation) {
        self.ana = ana
        self.ben = ben
        self.conversation = conversation
    }

    /// Opens `count` sockets. Throws if one is refused.
    static func of(_ count: Int, _ cluster: Cluster) async throws -> Crowd {
        let crowd = try await Crowd(cluster)
        for _ in 0..<count { try await crowd.join() }
        return crowd
    }

    private convenience init(_ cluster: Cluster) async throws {
        let users = try await cluster.app().signIn(["ana", "ben"])
        let ana = try await users[0].open()
        self.init(ana: ana, ben: users[1], conversation: try await users[0].converse(with: [users[1]]))
        try await ana.change("create", "Conversation", conversation.id)
    }

    /// Opens sockets until one is refused or not answered.
    /// - Parameter patience: The maximum time for opening a socket.
    static func fill(_ cluster: Cluster, atMost limit: Int, patience: Duration = .seconds(5)) async throws -> Crowd {
        let crowd = try await Crowd(cluster)
        while crowd.sockets.count < limit {
            do {
                try await crowd.join(within: patience)
            } catch {
                // A refused connection gets an answer, unless there is no descriptor to send it on.
                if let error = error as? ProtocolClientError, let answer = error.answer {
                    #expect(answer.status == 503)
                    #expect(answer.errorID == "service_unavailable")
                    #expect(answer.header("Retry-After") != nil)
                }
                return crowd
            }
        }
        throw Problem("\(limit) connections were taken")
    }

    func join(within patience: Duration = .seconds(5)) async throws {
        let socket = try await ben.client.openSocket(sessionToken: ben.token, deadline: .now + patience)
        _ = try await socket.request("Counter.read", deadline: .now + patience)
        sockets.append(socket)
    }

    func leave(_ count: Int) async throws {
        for _ in 0..<count {
            guard let socket = sockets.popLast() else { throw Problem("fewer than \(count) connections were taken") }
            await socket.close()
        }
    }

    /// Sends a message from Ana's open socket and expects it on every open socket of Ben.
    func expectDelivery(of text: String) async throws {
        #expect(try await ana.ask("Message.create", conversation.id, TestUser.message(text)).isSuccess)
        for socket in sockets {
            try await socket.message(text)
            #expect(socket.closure == nil)
            #expect(socket.faults == [])
        }
    }
}
