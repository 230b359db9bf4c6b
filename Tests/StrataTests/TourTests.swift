// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("the tour")
struct TourTests {
    @Test("docs/clients.md shows exactly the commands of scripts/tour.sh")
    func sameText() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let script = try String(contentsOf: root.appending(path: "scripts/tour.sh"), encoding: .utf8)
        let document = try String(contentsOf: root.appending(path: "docs/clients.md"), encoding: .utf8)
        let commands = try #require(script.firstRange(of: "# --- clients.md ---\n")?.upperBound)
        let end = try #require(script.firstRange(of: "# --- end ---")?.lowerBound)
        #expect(document.contains("```bash\n" + script[commands..<end] + "```"))
    }
}
