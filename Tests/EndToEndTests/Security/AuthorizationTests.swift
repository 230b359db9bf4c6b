// SPDX-License-Identifier: Apache-2.0

import Gateway
import Logging
import NIOPosix
import ProtocolClient
import RPC
import ServiceKit
import StrataModel
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Every caller tries every route, request and packet.
    @Suite("authorization")
    struct AuthorizationTests {
        /// The client routes that a real gateway serves.
        static func servedRoutes() throws -> [ServedRoute] { try served().routes }

        static func served() throws -> GatewayService {
            let nowhere = RPCClientConfiguration(
                target: .fixed([RPCEndpoint(host: "127.0.0.1", port: 1)]), clusterSecret: Cluster.secret, name: "none")
            let settings = GatewaySettings(
                publicURL: "https://chat.test", redisURL: "redis://127.0.0.1:1", clusterSecret: Cluster.secret,
                backends: GatewaySettings.Backends(conversations: nowhere, metadata: nowhere, presence: nowhere))
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            return try GatewayService(
                settings: settings,
                environment: ServiceEnvironment(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger))
        }

        @Test("every route has a row, and every row has a route")
        func routes() throws {
            let served = Set(try Self.servedRoutes().map { "\($0.method) \($0.path)" })
            let rows = Set(RESTRows.all.map { "\($0.method) \($0.route)" })
            #expect(served.subtracting(rows).sorted() == [], "routes without a row")
            #expect(rows.subtracting(served).sorted() == [], "rows without a route")
            #expect(served.count > 40)
        }

        @Test("every socket method and signal has a row, and every row has a method or signal")
        func methods() {
            let known = Set(
                SocketMethod.allCases.map(\.rawValue) + TypingAction.allCases.map { "typing_indicator \($0.rawValue)" })
            let rows = Set(SocketRows.all.map(\.method)).subtracting([SocketRows.unknownMethod])
            #expect(known.subtracting(rows).sorted() == [], "methods without a row")
            #expect(rows.subtracting(known).sorted() == [], "rows without a method")
        }

        @Test(
            "each cell has a value that follows the rules, and strangers cannot distinguish existing objects from missing ones",
            .long)
        func matrix() async throws {
            let cast = try await Cast.make(on: try await Cluster.shared())
            let access = Dictionary(try Self.servedRoutes().map { ("\($0.method) \($0.path)", $0.access) }) {
                first, _ in first
            }
            var report = AuthorizationReport()
            report.add("Sockets", try await sockets(cast))
            report.add(
                "Packets from the server",
                try await rows(PacketKind.allCases, name: \.rawValue, expected: { $0.expected($1) }) {
                    try await PacketRow($0, cast).run()
                })
            let rest = try await rows(
                RESTRows.all, name: \.name,
                expected: { $0.expected($1, access["\($0.method) \($0.route)"] ?? .signedIn) },
                observe: { try await $0.run(cast) })
            report.add("REST", rest)
            for socket in cast.earlySockets.values { await socket.close() }
            try report.settle()
        }

        private func sockets(_ cast: Cast) async throws -> [AuthorizationReport.Row] {
            let handshake = try await rows(
                ["opening a socket"], name: \.self, expected: { $1.isSignedIn ? "open" : "no socket: \($1.refusal)" }
            ) { _ in
                var cells: [Who: String] = [:]
                for who in Who.allCases {
                    switch await SocketRow.open(cast, who) {
                    case .failure(let refusal): cells[who] = refusal.text
                    case .success(let socket):
                        cells[who] = "open"
                        await socket.close()
                    }
                }
                return cells
            }
            let open = try await rows(
                ["a socket that was open before"], name: \.self,
                expected: { $1.isSignedIn ? "stays open" : cast.earlySockets[$1] == nil ? "has none" : "closed 4401" }
            ) { _ in
                var cells: [Who: String] = [:]
                for who in Who.allCases {
                    guard let socket = cast.earlySockets[who] else {
                        cells[who] = "has none"
                        continue
                    }
                    if who.isSignedIn {
                        cells[who] = try await socket.ask("Counter.read").isSuccess ? "stays open" : "refused"
                    } else {
                        cells[who] = "closed \(try await socket.waitForClose(deadline: Waiting.deadline).code ?? 0)"
                    }
                }
                return cells
            }
            return handshake + open
                + (try await rows(SocketRows.all, name: \.name, expected: { $0.expected($1) }) {
                    try await $0.run(cast)
                })
        }

        private func rows<Row>(
            _ all: [Row], name: (Row) -> String, expected: (Row, Who) -> String?,
            observe: (Row) async throws -> [Who: String]
        ) async throws -> [AuthorizationReport.Row] {
            var rows: [AuthorizationReport.Row] = []
            for row in all {
                let cells: [Who: String]
                do {
                    cells = try await observe(row)
                } catch {
                    Issue.record("\(name(row)): \(error)")
                    continue
                }
                for who in Who.allCases {
                    #expect(cells[who] == expected(row, who), "\(name(row)): \(who.rawValue)")
                }
                rows.append(AuthorizationReport.Row(name: name(row), cells: cells))
            }
            return rows
        }
    }
}
