// SPDX-License-Identifier: Apache-2.0

/// Which files of content are deleted when they take too much of the disk.
struct DiskPlan: Hashable, Sendable {
    struct File: Hashable, Sendable {
        let name: String
        let size: Int
        /// When its content was last read, in microseconds since 1970.
        let usedAt: Int64
        /// Whether it can be downloaded again. A file that waits for its upload cannot.
        let isOnServer: Bool
    }

    /// The least recently used first.
    let deletions: [File]

    /// - Parameters:
    ///   - files: all files of content.
    ///   - capacity: bytes that they may take together. 0 means no limit. Above it, files are deleted until at most 80 % of it are left.
    init(files: [File], capacity: Int) {
        var used = files.map(\.size).clampedSum
        guard capacity > 0, used > capacity else {
            deletions = []
            return
        }
        let goal = capacity / 5 * 4 + capacity % 5 * 4 / 5
        var deletions: [File] = []
        for file in files.filter(\.isOnServer).sorted(by: { ($0.usedAt, $0.name) < ($1.usedAt, $1.name) }) where used > goal {
            used -= max(0, file.size)
            deletions.append(file)
        }
        self.deletions = deletions
    }
}
