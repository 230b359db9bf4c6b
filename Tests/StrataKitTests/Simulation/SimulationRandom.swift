// SPDX-License-Identifier: Apache-2.0
import Foundation
import SeededRandom

extension SeededGenerator {
    /// A generator of its own, so that what one part draws does not shift what another draws.
    mutating func fork() -> SeededGenerator { SeededGenerator(seed: next()) }

    /// One of these; nil: there is none.
    mutating func anyOne<Element>(of elements: [Element]) -> Element? { elements.randomElement(using: &self) }

    /// From 0 up to 1.
    mutating func unit() -> Double { Double.random(in: 0..<1, using: &self) }

    mutating func newUUID() -> UUID {
        var bytes = UUID().uuid
        withUnsafeMutableBytes(of: &bytes) { $0.storeBytes(of: (next(), next()), as: (UInt64, UInt64).self) }
        return UUID(uuid: bytes)
    }
}
