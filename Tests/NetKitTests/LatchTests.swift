// SPDX-License-Identifier: Apache-2.0

import NetKit
import Testing

@Suite("latches", .timeLimit(.minutes(3)))
struct LatchTests {
    @Test("a latch wakes current and later waiters, and a waiting task can cancel")
    func latch() async throws {
        let latch = Latch<Int>()
        let leaver = Task { try await latch.value() }
        leaver.cancel()
        await #expect(throws: CancellationError.self) { try await leaver.value }
        async let early = latch.value()
        latch.settle(.success(7))
        latch.settle(.success(8))
        #expect(try await early == 7)
        #expect(try await latch.value() == 7)
    }
}
