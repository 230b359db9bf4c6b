// SPDX-License-Identifier: Apache-2.0

import CBuildInfo

/// The version of Strata. `scripts/check_version.py`, which `make lint` runs, compares the other places that contain
/// the version with this one.
package enum StrataVersion {
    static let current = "0.1.0"
    /// The version, with the commit in parentheses if the build knows it. Release builds in a Git checkout and images
    /// built with `STRATA_COMMIT` do.
    package static let description = text(commit: String(cString: strata_commit()))

    static func text(commit: String) -> String { commit.isEmpty ? current : "\(current) (\(commit))" }
}
