// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

extension Timestamp {
    /// Returns the time of the wall clock. No data sent to clients depends on it.
    static func now() -> Timestamp {
        Timestamp(microseconds: Int64((Date().timeIntervalSince1970 * 1_000_000).rounded()))
    }
}
