// SPDX-License-Identifier: Apache-2.0

extension Array {
    /// Returns the elements in order, in slices of `size`; the last slice may be shorter. Used for services that limit
    /// the items per call.
    func batches(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
