// SPDX-License-Identifier: Apache-2.0

/// The version of this tree.
enum StrataVersion {
    static let current = "0.1.0"
}
