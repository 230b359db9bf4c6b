// SPDX-License-Identifier: Apache-2.0

/// The rules for automatic downloads of content, and the limit of its disk space.
///
/// The options apply to content that is stored separately from its message. Inline parts always arrive with their
/// message.
public struct ContentOptions: Hashable, Sendable {
    /// The maximum number of bytes of content on this device. 0: no limit. If it is exceeded, the least recently used
    /// content is deleted until usage is at most 80 % of the limit. Content with a pending upload is never deleted.
    public var diskCapacity: Int
    /// The MIME types whose content is downloaded automatically. nil: all types; empty: none. Parameters of a type are
    /// ignored.
    public var autodownloadMIMETypes: Set<String>?
    /// The size in bytes of the largest content that is downloaded automatically. 0: no automatic downloads.
    public var autodownloadMaximumContentSize: Int

    /// Creates options. By default there is no disk limit, and no automatic download.
    public init(
        diskCapacity: Int = 0, autodownloadMIMETypes: Set<String>? = ["text/plain"],
        autodownloadMaximumContentSize: Int = 0
    ) {
        self.diskCapacity = diskCapacity
        self.autodownloadMIMETypes = autodownloadMIMETypes
        self.autodownloadMaximumContentSize = autodownloadMaximumContentSize
    }

    /// Returns true if content is downloaded automatically.
    /// - Parameter wasPurged: true if the content was deleted from this device. Purged content is downloaded again only
    ///   on request of the app.
    func downloads(mimeType: String, size: Int, wasPurged: Bool) -> Bool {
        guard !wasPurged, autodownloadMaximumContentSize > 0, size <= autodownloadMaximumContentSize else {
            return false
        }
        guard let types = autodownloadMIMETypes else { return true }
        let essence = MIMEType.essence(mimeType)
        return types.contains { MIMEType.essence($0) == essence }
    }
}

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
