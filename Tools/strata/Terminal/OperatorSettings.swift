// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The operator's settings in the environment of a command. As in the services, a setting is the value of `KEY`, or the
/// content of the file named by `KEY_FILE`.
package struct OperatorSettings: Sendable {
    private let environment: [String: String]

    package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = environment
    }

    /// Returns the value of a setting; nil if it is missing or empty.
    /// - Throws: ``CommandFailure`` if the file is unreadable.
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
