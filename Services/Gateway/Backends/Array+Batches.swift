// SPDX-License-Identifier: Apache-2.0

extension Array {
    /// The elements in order, in slices of `size` and a last one of what is left: what a service takes a limited number of.
    func batches(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
