// SPDX-License-Identifier: Apache-2.0

/// The major versions of a server that Strata supports. `scripts/check_version.py` compares them with the documents.
struct ServerVersions: Equatable, Sendable {
    /// The product's name in the output of `--version`.
    let product: String
    let supported: [Int]
    /// The major versions on which `scripts/test-versions.sh` has passed.
    let tested: [Int]

    static let postgres = ServerVersions(product: "PostgreSQL", supported: [15, 16, 17, 18], tested: [15, 17])
    static let redis = ServerVersions(product: "Redis", supported: [7, 8], tested: [7, 8])
    static let valkey = ServerVersions(product: "Valkey", supported: [8, 9], tested: [])

    /// `tested with 15, 17`, or `not tested`.
    var summary: String {
        tested.isEmpty ? "not tested" : "tested with " + tested.map(String.init).joined(separator: ", ")
    }
}
