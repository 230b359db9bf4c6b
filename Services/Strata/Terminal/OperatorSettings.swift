// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the operator has set in the environment of a command: `KEY`, or what is in the file that `KEY_FILE` names, as the services read it, too.
package struct OperatorSettings: Sendable {
    private let environment: [String: String]

    package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = environment
    }

    /// Nil if it is not given, or empty.
    /// - Throws: ``CommandFailure`` if the file cannot be read.
    package func value(_ key: String) throws -> String? {
        if let value = environment[key], !value.isEmpty { return value }
        guard let path = environment[key + "_FILE"], !path.isEmpty else { return nil }
        guard var text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure(.configuration, "The file \(path), named by \(key)_FILE, cannot be read.")
        }
        if text.hasSuffix("\n") { text.removeLast() }
        return text.isEmpty ? nil : text
    }
}
