// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// The duration of a refusal must not reveal more than its text, as far as the server controls it. Therefore the
    /// same work is done for an object of another user as for one that does not exist.
    @Suite("cost of a refusal")
    struct WorkTests {
        /// Rows that name an object and that strangers are refused.
        private static var refused: [RESTRow] {
            RESTRows.all.filter { row in
                row.tellsExistence == nil && row.outcomes[.noSession] == nil
                    && Names.namesObject(row.path.replacingOccurrences(of: "{user}", with: ""), row.body ?? "")
                    && Who.allCases.allSatisfy { !$0.isStranger || row.outcomes[$0]?.hasPrefix("4") == true }
            }
        }

        /// Periodic calls and statements that services make without a request. On a slow machine some of them occur
        /// during every measurement.
        private static let periodic = [
            "heads", "sweep", "maint", "epoch", "session.check", "checkSessions", "renewPresence", "index.build",
            "message.due_delayed",
            "user.erase_some", "webhooks.recorded_apps", "directory.departures",
        ]

        /// Returns the counts so far of calls by method and of statements by name, without the periodic ones.
        private func work(_ cluster: Cluster) async throws -> [String: Double] {
            var work: [String: Double] = [:]
            for kind in [ServiceProcess.Kind.conversations, .metadata, .presence] {
                for line in try await SecretTests.admin(cluster.instances(of: kind)[0], "/metrics")
                    .split(separator: "\n")
                {
                    guard
                        line.hasPrefix("strata_postgres_statement_duration_seconds_count")
                            || line.hasPrefix("strata_rpc_server_call_duration"),
                        line.contains("_count"), let space = line.lastIndex(of: " "),
                        let value = Double(line[line.index(after: space)...])
                    else { continue }
                    if Self.periodic.contains(where: { line.contains($0) }) { continue }
                    work["\(kind.rawValue) \(line[..<space])"] = value
                }
            }
            return work
        }

        private func done(_ cluster: Cluster, _ body: () async throws -> Void) async throws -> [String: Double] {
            let before = try await work(cluster)
            try await body()
            return try await work(cluster).filter { $0.value != before[$0.key] ?? 0 }.mapValues { $0 }
                .reduce(into: [:]) { $0[$1.key] = $1.value - (before[$1.key] ?? 0) }
        }

        @Test("services do the same work for another user's object as for a missing one")
        func same() async throws {
            try await Cluster.with(Cluster.Size()) { cluster in
                let cast = try await Cast.make(on: cluster)
                let scene = try await cast.scene()
                #expect(Self.refused.count > 20)
                for (number, row) in Self.refused.enumerated()
                where TestTier.pick(short: number.isMultiple(of: 3), long: true) {
                    for who in [Who.never, .otherApp] {
                        let names = cast.names(scene, for: who)
                        var works: [[String: Double]] = []
                        // Repeat the measurement, because work of another request, or work counted after its answer,
                        // may disturb it.
                        for _ in 0..<5 {
                            works = []
                            for names in [names, names.unknown(laterOnly: false)] {
                                works.append(try await done(cluster) { _ = try await row.ask(cast, who, names) })
                            }
                            if works[0] == works[1], !works[0].isEmpty { break }
                        }
                        #expect(works[0] == works[1], "\(row.name): \(who.rawValue)")
                        #expect(!works[0].isEmpty, "\(row.name): nothing was counted")
                    }
                }
                for socket in cast.earlySockets.values { await socket.close() }
            }
        }

        @Test(
            "a report prints the times of refusals for foreign and missing objects",
            .enabled(if: ProcessInfo.processInfo.environment["STRATA_REFUSAL_TIMES"] == "1"))
        func times() async throws {
            let cast = try await Cast.make(on: try await Cluster.shared())
            let scene = try await cast.scene()
            for row in Self.refused where row.method == "GET" {
                var times: [[Duration]] = [[], []]
                let names = cast.names(scene, for: .never)
                for _ in 0..<200 {
                    for (index, names) in [names, names.unknown(laterOnly: false)].enumerated() {
                        let start = ContinuousClock.now
                        _ = try await row.ask(cast, .never, names)
                        times[index].append(.now - start)
                    }
                }
                let medians = times.map { $0.sorted()[$0.count / 2] }
                print(
                    "\(row.name): another user's \(medians[0]), unknown \(medians[1]), ratio \(medians[0] / medians[1])"
                )
            }
        }
    }
}
