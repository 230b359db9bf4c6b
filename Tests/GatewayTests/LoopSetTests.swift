// SPDX-License-Identifier: Apache-2.0
import SeededRandom
import Testing

@testable import FanOut
@testable import Gateway

struct LoopSetTests {
    @Test("a set of loops contains the inserted and not removed ones, below 64 and beyond")
    func members() {
        var set: LoopSet = []
        var expected: Set<Int> = []
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let index = Int.random(in: 0..<200, using: &random)
            if Bool.random(using: &random) {
                set.insert(index)
                expected.insert(index)
            } else {
                set.remove(index)
                expected.remove(index)
            }
        }
        var found: [Int] = []
        set.forEach { found.append($0) }
        #expect(found == expected.sorted())
        #expect((0..<300).allSatisfy { set.contains($0) == expected.contains($0) })
        for index in expected { set.remove(index) }
        #expect(set.isEmpty)
        set.insert(64)
        #expect(!set.isEmpty && set.contains(64) && !set.contains(0))
    }
}
