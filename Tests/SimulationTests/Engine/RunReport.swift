// SPDX-License-Identifier: Apache-2.0

/// What one seed came to.
struct RunReport: Sendable {
    let seed: UInt64
    let steps: Int
    let violations: [String]
    let lastEvents: [String]
    /// What happened in it, in a number: two runs of one seed have the same.
    let digest: UInt64
    /// How often each kind of thing happened that a run should have: a simulation in which nothing goes wrong shows nothing.
    let counts: [String: Int]

    var isGood: Bool { violations.isEmpty }

    /// What is printed of a failing seed.
    func complaint(suite: String) -> String {
        (["seed \(seed) broke a promise after \(steps) steps:"] + violations.map { "  " + $0 } + ["the last events:"] + lastEvents.map { "  " + $0 }
            + ["again: STRATA_SIMULATION_SEED=\(seed) make test ARGS=\"--filter \(suite)\""])
            .joined(separator: "\n")
    }
}

/// A number that stands for everything that was put in, in that order.
struct Digest {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325
    mutating func add(_ number: Int64) {
        value = (value ^ UInt64(bitPattern: number)) &* 0x100_0000_01b3
        value ^= value >> 29
    }
}
