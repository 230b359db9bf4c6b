// SPDX-License-Identifier: Apache-2.0

struct RunReport: Sendable {
    let seed: UInt64
    let steps: Int
    let violations: [String]
    let lastEvents: [String]
    /// A digest of all events: two runs of one seed have the same digest.
    let digest: UInt64
    /// The number of occurrences of each kind of event that a run should contain. A simulation without faults proves
    /// nothing.
    let counts: [String: Int]

    var isGood: Bool { violations.isEmpty }

    func complaint(suite: String) -> String {
        (["seed \(seed) broke a promise after \(steps) steps:"] + violations.map { "  " + $0 } + ["the last events:"]
            + lastEvents.map { "  " + $0 }
            + ["again: STRATA_SIMULATION_SEED=\(seed) make test ARGS=\"--filter \(suite)\""])
            .joined(separator: "\n")
    }
}

/// An order-dependent hash of its inputs.
struct Digest {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325
    mutating func add(_ number: Int64) {
        value = (value ^ UInt64(bitPattern: number)) &* 0x100_0000_01b3
        value ^= value >> 29
    }
}
