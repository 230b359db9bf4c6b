// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster
import TestSupport
import Testing

extension EndToEnd {
    @Suite("the page about the Server API")
    struct ServerDocsTests {
        private static let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

        @Test("the page's commands run as printed and send a message")
        func commands() async throws {
            let cluster = try await Cluster.shared()
            let page = try String(contentsOf: Self.root.appending(path: "docs/server-api.md"), encoding: .utf8)
            // The section on the bot is tested by scripts/check_bot.py, because its commands do not end.
            let blocks = page.components(separatedBy: "\n## A bot\n")[0].components(separatedBy: "```bash\n")
                .dropFirst()
                .compactMap { $0.components(separatedBy: "```").first }
            #expect(blocks.count == 3)
            let directory = try TestDirectory.make("server-api")
            let strata = URL(filePath: try Executables.find("strata")).deletingLastPathComponent().path
            let environment = [
                "PATH": "\(strata):/usr/bin:/bin", "STRATA_HOME": directory + "/home",
                "STRATA_DATABASE_URL": cluster.databaseURL,
                "API": cluster.client().baseURL,
            ]
            let script = "set -euo pipefail\n" + blocks.joined()
            let launch = Launch(
                "/bin/bash", arguments: ["-c", script], environment: environment, directory: directory,
                output: .capture(limit: 1 << 20))
            let exit = try await ChildProcess.run(launch, timeout: .seconds(60))
            #expect(exit.status == 0)
            let message = try JSONValue(parsing: Data(exit.output.utf8))
            #expect(message["parts"][0]["body"].string == "Your table is booked")
            #expect(message["sender"]["user_id"].string == "alice")
            #expect(message["url"].string?.contains("/users/alice/messages/") == true)
        }
    }
}
