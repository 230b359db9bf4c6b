// SPDX-License-Identifier: Apache-2.0

/// Which content is downloaded without being asked for, and how much of it is kept.
///
/// This concerns content beside messages. Parts that are stored with their message always come with it.
public struct ContentOptions: Hashable, Sendable {
    /// Bytes that content may take on this device; 0: no limit. Above it, the content that was used least recently is deleted until 80 % of it are left.
    /// What waits to be uploaded is never deleted.
    public var diskCapacity: Int
    /// MIME types whose content is downloaded without being asked for; nil: all; empty: none. Parameters of a type do not count.
    public var autodownloadMIMETypes: Set<String>?
    /// The largest content, in bytes, that is downloaded without being asked for; 0: none is.
    public var autodownloadMaximumContentSize: Int

    /// No limit of the disk, and no downloads without being asked, unless said otherwise.
    public init(diskCapacity: Int = 0, autodownloadMIMETypes: Set<String>? = ["text/plain"], autodownloadMaximumContentSize: Int = 0) {
        self.diskCapacity = diskCapacity
        self.autodownloadMIMETypes = autodownloadMIMETypes
        self.autodownloadMaximumContentSize = autodownloadMaximumContentSize
    }

    /// Whether content is downloaded without being asked for.
    /// - Parameter wasPurged: whether it was on this device and was deleted; such content comes again only when it is asked for.
    func downloads(mimeType: String, size: Int, wasPurged: Bool) -> Bool {
        guard !wasPurged, autodownloadMaximumContentSize > 0, size <= autodownloadMaximumContentSize else { return false }
        guard let types = autodownloadMIMETypes else { return true }
        let essence = MIMEType.essence(mimeType)
        return types.contains { MIMEType.essence($0) == essence }
    }
}
