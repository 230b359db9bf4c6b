// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import KitClient

/// An app that fault tests start, drive by lines on its standard input, and kill. Its environment holds a ``KitClientSettings``.
@main
enum Main {
    static func main() async {
        // A file that may not grow any more is an error of the write, as on a full disk, and not the end of the process.
        signal(SIGXFSZ, SIG_IGN)
        do {
            let settings = try JSONDecoder()
                .decode(KitClientSettings.self, from: Data((ProcessInfo.processInfo.environment[KitClientSettings.variable] ?? "").utf8))
            try await KitSession.start(settings)
        } catch {
            KitSession.say(error)
            exit(1)
        }
    }
}
