// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The protection that an Apple platform gives to the folder of an app's stores. Other platforms have no such attributes of files.
enum DeviceProtection {
    /// Keeps the folder out of backups, and unreadable until the device is first unlocked.
    static func apply(to folder: URL) throws {
        #if canImport(Darwin)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        var folder = folder
        try folder.setResourceValues(values)
        #if !os(macOS)
        try FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: folder.path(percentEncoded: false))
        #endif
        #endif
    }
}
