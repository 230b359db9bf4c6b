// SPDX-License-Identifier: Apache-2.0

/// The major versions of a server that the tests have run against. `README.md` and `docs/operating.md` say the same; `scripts/check_version.py` compares.
struct TestedVersions: Equatable, Sendable {
    /// The name in the output of `--version`.
    let product: String
    /// The major versions, ascending. The first is the oldest that Strata supports.
    let majors: [Int]

    static let postgres = TestedVersions(product: "PostgreSQL", majors: [15, 16, 17, 18])
    static let redis = TestedVersions(product: "Redis", majors: [7, 8])
    static let valkey = TestedVersions(product: "Valkey", majors: [8, 9])

    /// `15, 16`.
    var text: String { majors.map(String.init).joined(separator: ", ") }
}
