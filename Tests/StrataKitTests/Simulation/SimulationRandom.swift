// SPDX-License-Identifier: Apache-2.0
import Foundation
import SeededRandom

extension SeededGenerator {
    /// Returns an independent generator, so that the draws of one part do not affect another.
    mutating func fork() -> SeededGenerator { SeededGenerator(seed: next()) }

    /// Returns a random element; nil if there are none.
    mutating func anyOne<Element>(of elements: [Element]) -> Element? { elements.randomElement(using: &self) }

    /// Returns a number in 0..<1.
    mutating func unit() -> Double { Double.random(in: 0..<1, using: &self) }

    mutating func newUUID() -> UUID {
        var bytes = UUID().uuid
        withUnsafeMutableBytes(of: &bytes) { $0.storeBytes(of: (next(), next()), as: (UInt64, UInt64).self) }
        return UUID(uuid: bytes)
    }
}
