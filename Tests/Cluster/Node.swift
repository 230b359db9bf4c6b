// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers

/// The program that runs the JavaScript client.
package enum Node {
    /// The reason why tests of the JavaScript client are skipped.
    package static let comment = "They need Node 20 or newer."

    /// The path of Node, if it is new enough for the client.
    package static let path: String? = {
        guard let path = try? Programs.find("node") else { return nil }
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: path)
        process.arguments = ["--version"]
        process.standardOutput = output
        guard (try? process.run()) != nil else { return nil }
        process.waitUntilExit()
        let version = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let major = version.dropFirst().split(separator: ".").first.flatMap { Int($0) } ?? 0
        return major >= 20 ? path : nil
    }()
}
