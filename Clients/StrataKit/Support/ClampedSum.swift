// SPDX-License-Identifier: Apache-2.0

extension Sequence<Int> {
    /// The sum of the non-negative elements, clamped to `Int.max`. For sizes and counts that the server has sent.
    var clampedSum: Int {
        reduce(0) { sum, number in
            let (value, hasOverflowed) = sum.addingReportingOverflow(Swift.max(0, number))
            return hasOverflowed ? .max : value
        }
    }
}
