// SPDX-License-Identifier: Apache-2.0
import Foundation

/// File protection for the folder of an app's stores on Apple platforms. It does nothing on other platforms, which have
/// no such file attributes.
enum DeviceProtection {
    /// Excludes the folder from backups, and makes it unreadable until the device is first unlocked after a restart.
    static func apply(to folder: URL) throws {
        #if canImport(Darwin)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        var folder = folder
        try folder.setResourceValues(values)
        #if !os(macOS)
        try FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication],
            ofItemAtPath: folder.path(percentEncoded: false))
        #endif
        #endif
    }
}
