// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

extension Timestamp {
    /// The wall clock. Nothing that clients are told depends on it.
    static func now() -> Timestamp {
        Timestamp(microseconds: Int64((Date().timeIntervalSince1970 * 1_000_000).rounded()))
    }
}
