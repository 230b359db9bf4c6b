// SPDX-License-Identifier: Apache-2.0

import CBuildInfo

/// The version of this tree. `scripts/check_version.py`, which `make lint` runs, compares the other places that name it with this one.
enum StrataVersion {
    static let current = "0.1.0"
    /// The version, and the commit in parentheses if the build knows it: release builds in a Git checkout, and images built with `STRATA_COMMIT`.
    static let description = text(commit: String(cString: strata_commit()))

    static func text(commit: String) -> String { commit.isEmpty ? current : "\(current) (\(commit))" }
}
