// SPDX-License-Identifier: Apache-2.0

import CBuildInfo

/// The version of Strata, with the commit in parentheses if the build knows it. Release builds in a Git checkout and
/// images built with `STRATA_COMMIT` do.
package enum StrataVersion {
    package static let description = String(cString: strata_version())
}
