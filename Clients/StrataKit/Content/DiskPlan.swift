// SPDX-License-Identifier: Apache-2.0

/// The selection of content files to delete when they exceed the disk capacity.
struct DiskPlan: Hashable, Sendable {
    struct File: Hashable, Sendable {
        let name: String
        let size: Int
        /// The last read of the content, in microseconds since 1970.
        let usedAt: Int64
        /// True if the file can be downloaded again. False for pending uploads.
        let isOnServer: Bool
    }

    /// The files to delete, least recently used first.
    let deletions: [File]

    /// Selects the files to delete.
    /// - Parameters:
    ///   - files: all files of content.
    ///   - capacity: the maximum total size in bytes; 0: no limit. If it is exceeded, files are deleted until at most
    ///     80 % of it are used.
    init(files: [File], capacity: Int) {
        var used = files.map(\.size).clampedSum
        guard capacity > 0, used > capacity else {
            deletions = []
            return
        }
        let goal = capacity / 5 * 4 + capacity % 5 * 4 / 5
        var deletions: [File] = []
        for file in files.filter(\.isOnServer).sorted(by: { ($0.usedAt, $0.name) < ($1.usedAt, $1.name) })
        where used > goal {
            used -= max(0, file.size)
            deletions.append(file)
        }
        self.deletions = deletions
    }
}
