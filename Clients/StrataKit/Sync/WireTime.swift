// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire

/// Times as the server writes them.
enum WireTime {
    /// Microseconds since 1970; nil if the text is no time.
    static func microseconds(_ text: String) -> Int64? { ISO8601.parse(text)?.microseconds }
}
