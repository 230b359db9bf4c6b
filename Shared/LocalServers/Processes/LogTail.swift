// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The end of a log file.
public enum LogTail {
    /// Returns the last lines of a file, limited to its last 16 KiB. Empty if the file is unreadable.
    public static func last(_ count: Int, of path: String) -> String {
        guard let file = FileHandle(forReadingAtPath: path) else { return "" }
        defer { try? file.close() }
        let size = (try? file.seekToEnd()) ?? 0
        try? file.seek(toOffset: size > 16_384 ? size - 16_384 : 0)
        let bytes = (try? file.readToEnd()) ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").suffix(count).joined(separator: "\n")
    }
}
