// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers

/// How to call this command again, for what we tell the operator to type.
enum OwnCommand {
    /// `strata` if that is what the shell would find, otherwise the words we were called with.
    static var name: String {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        guard let own, let found = try? Programs.find("strata") else { return CommandLine.arguments[0] }
        let real = URL(fileURLWithPath: found).resolvingSymlinksInPath().path(percentEncoded: false)
        return real == own ? "strata" : CommandLine.arguments[0]
    }
}
