// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import StrataKit

@Suite("the wait before an attempt to connect")
struct ReconnectPolicyTests {
    private let policy = ReconnectPolicy()

    @Test("the first attempt is immediate, later ones come within a time that doubles up to 30 s (CLNT-4)")
    func bounds() {
        let longest = (1...9).map { policy.delay(before: $0, after: .now, random: 1) }
        #expect(longest == [0, 1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
        #expect(policy.delay(before: 1_000_000, after: .now, random: 1) == .seconds(30))
    }

    @Test("the wait is a random part of its maximum", arguments: [0, 0.25, 0.5, 1])
    func jitter(_ random: Double) {
        #expect(policy.delay(before: 5, after: .now, random: random) == .seconds(8) * random)
    }

    @Test("a random number outside 0 to 1 does no harm", arguments: [-1, 2])
    func outside(_ random: Double) {
        #expect((.zero ... .seconds(8)).contains(policy.delay(before: 5, after: .now, random: random)))
    }

    @Test("a delayed reconnect is never immediate and comes within 30 s")
    func later() {
        #expect(policy.delay(before: 1, after: .later(nil), random: 0) == .seconds(2))
        #expect(policy.delay(before: 1, after: .later(nil), random: 1) == .seconds(4))
        #expect(policy.delay(before: 9, after: .later(nil), random: 1) == .seconds(30))
    }

    @Test("the time requested by the server is kept, up to a limit")
    func asked() {
        #expect(policy.delay(before: 2, after: .later(.seconds(40)), random: 0) == .seconds(40))
        #expect(policy.delay(before: 2, after: .later(.seconds(40)), random: 1) == .seconds(42))
        #expect(policy.delay(before: 2, after: .later(.zero), random: 0) == .seconds(2))
        #expect(policy.delay(before: 2, after: .later(.seconds(86_400)), random: 0) == .seconds(300))
    }
}
