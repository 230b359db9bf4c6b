// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("strata demo")
    struct DemoTests {
        static func arguments(_ app: TestApp, _ urls: [String]) -> [String] {
            let addresses = zip(["--url", "--url2"], urls).flatMap { [$0, $1] }
            return ["demo", "--typing-seconds", "1"] + addresses
                + [
                    "--app", app.id, "--key", app.privateKeyFile, "--key-id", LayerID.key.text(app.app.keyID),
                    "--provider",
                    LayerID.provider.text(app.app.providerID),
                ]
        }

        @Test("the demo passes through two gateways")
        func passes() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let launch = Launch(try Executables.find("strata"), arguments: Self.arguments(app, cluster.urls))
            let exit = try await ChildProcess.run(launch, timeout: .seconds(240))
            #expect(exit.status == 0, "\(exit.output)")
            #expect(exit.output.contains("through gateway 2"))
        }

        @Test("the demo passes although a process of any kind is killed during it", .long)
        func survives() async throws {
            // The demos run concurrently, each on its own system, because a demo mostly waits.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for kind in ServiceProcess.Kind.allCases { group.addTask { try await passes(despiteKilling: kind) } }
                try await group.waitForAll()
            }
        }

        private func passes(despiteKilling kind: ServiceProcess.Kind) async throws {
            let settings = ["STRATA_TYPING_PAUSE": "1s", "STRATA_TYPING_FINISH": "1s"]
            try await Cluster.with(Cluster.Size(settings: settings)) { cluster in
                let app = try await cluster.app()
                let log = try TestDirectory.make("demo") + "/transcript"
                let demo = try await ChildProcess.start(
                    Launch(
                        try Executables.find("strata"), arguments: Self.arguments(app, cluster.urls),
                        deathSignal: .kill, output: .append(to: log))
                )
                let victim = cluster.instances(of: kind)[0]
                for moment in ["sets trip.city", "A message, its receipts", "Ben's connection is cut"] {
                    try await eventually("\(kind): the demo says: \(moment)") {
                        !demo.isRunning
                            || ((try? String(contentsOfFile: log, encoding: .utf8))?.contains(moment) == true)
                    }
                    await victim.kill()
                    try await victim.start()
                }
                let exit = await demo.exit(within: .seconds(240))
                let transcript = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                #expect(exit?.status == 0, "\(kind): \(transcript)")
            }
        }
    }
}
