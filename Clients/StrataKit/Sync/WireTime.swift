// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire

/// Parses times in the server's format.
enum WireTime {
    /// Returns a time in microseconds since 1970; nil if the text is not a time.
    static func microseconds(_ text: String) -> Int64? { ISO8601.parse(text)?.microseconds }
}
