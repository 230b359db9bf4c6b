// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd.JavaScriptTests {
    /// The directory in which scripts/venv.sh puts React and Vue.
    private static let packages: String =
        ProcessInfo.processInfo.environment["STRATA_VENV"]
        ?? URL(filePath: #filePath).appending(path: "../../../../.build/venv").standardizedFileURL
        .path(percentEncoded: false)

    private static let hasChromium = (try? Programs.find("chromium")) != nil
    private static let hasFrameworks = FileManager.default
        .fileExists(atPath: packages + "/frameworks/vue.esm-browser.prod.js")

    /// Runs the commands of docs/javascript.md, and two users on each of some of its pages.
    private func run(pages: [String]) async throws {
        try await withSystem { program, url, _ in
            let folders = [try Executables.find("strata"), try Programs.find("node")]
                .map { URL(filePath: $0).deletingLastPathComponent().path(percentEncoded: false) }
            try await run(
                ["\(Self.tests)/recipes.test.js"],
                environment: [
                    "STRATA_URL": url, "STRATA_HOME": program.directory + "/home", "HOME": program.directory,
                    "RECIPES": pages.joined(separator: " "), "STRATA_VENV": Self.packages,
                    "PATH": (folders + ["/usr/bin", "/bin"]).joined(separator: ":"),
                ])
        }
    }

    @Test(
        "the guide's commands, server and plain pages run as printed", .long, .enabled(if: hasChromium),
        .timeLimit(.minutes(5)))
    func plainRecipes() async throws {
        try await run(pages: ["hello.html", "index.html"])
    }

    @Test(
        "the guide's pages with React and Vue run as printed", .long, .enabled(if: hasChromium),
        .enabled(if: hasFrameworks, "make test installs React and Vue."), .timeLimit(.minutes(5)))
    func frameworkRecipes() async throws {
        try await run(pages: ["react.html", "vue.html"])
    }
}
