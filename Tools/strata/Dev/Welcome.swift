// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The text that `strata dev` prints when all processes run.
struct Welcome {
    let state: RunningState
    let home: StrataHome

    /// The text, several lines beginning with an empty one.
    var text: String {
        let prefix = home.path == StrataHome(environment: [:]).path ? "" : "STRATA_HOME=\(home.path) "
        let command = prefix + OwnCommand.name
        let secure = state.httpsURLs.map { "\($0)   \($0.replacingOccurrences(of: "https://", with: "wss://"))" }
        let plain = state.httpURLs.map { "\($0)    \($0.replacingOccurrences(of: "http://", with: "ws://"))" }
        return """

            Strata is up.

              HTTPS and WebSocket   \(secure.joined(separator: "\n                        "))
              without TLS           \(plain.joined(separator: "\n                        "))
              certificate           \(state.certificate)
              logs                  \(home.logs)/

            In another terminal:

              \(command) app create --name "My app"      an app, its key, and a token for its server
              \(command) token --app APP --user alice    an identity token, to sign in with
              \(command) demo                            two users try everything\(chat(prefix, columns: command.count + 33))
              \(command) doctor                          what is missing, what is wrong

            Ctrl-C stops everything and keeps the data.
            """
    }

    /// Returns the line about the example Chat; empty if this `strata` is not the one of a source tree.
    /// - Parameter columns: The width of the column with the commands.
    private func chat(_ prefix: String, columns: Int) -> String {
        guard FileManager.default.isExecutableFile(atPath: ServiceBinaries().directory + "/ChatExample") else {
            return ""
        }
        let command = "\(prefix)make chat USER=alice".padding(toLength: columns, withPad: " ", startingAt: 0)
        return "\n  \(command)a chat in the terminal; bob is in another one"
    }
}
