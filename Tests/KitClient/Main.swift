// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// An app that fault tests start, control by lines on its standard input, and kill. Its environment contains
/// ``KitClientSettings``.
@main
enum Main {
    static func main() async {
        // Ignore SIGXFSZ, so that a write beyond the limit fails, as on a full disk, instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        do {
            let settings = try JSONDecoder()
                .decode(
                    KitClientSettings.self,
                    from: Data((ProcessInfo.processInfo.environment[KitClientSettings.variable] ?? "").utf8))
            try await KitSession.start(settings)
        } catch {
            KitSession.say(error)
            exit(1)
        }
    }
}
