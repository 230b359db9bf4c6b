// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers

/// The name of this command in texts that tell the operator what to type.
enum OwnCommand {
    /// The name `strata` if the shell would find this executable under it; otherwise the path of the call.
    static var name: String {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        guard let own, let found = try? Programs.find("strata") else { return CommandLine.arguments[0] }
        let real = URL(fileURLWithPath: found).resolvingSymlinksInPath().path(percentEncoded: false)
        return real == own ? "strata" : CommandLine.arguments[0]
    }
}
