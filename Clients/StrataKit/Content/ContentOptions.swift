// SPDX-License-Identifier: Apache-2.0

/// Which content is downloaded automatically, and how much of it is kept.
///
/// This concerns content beside messages. Parts that are stored with their message always come with it.
public struct ContentOptions: Hashable, Sendable {
    /// Bytes that content may take on this device. 0 means no limit. Above it, the least recently used content is deleted until 80 % of the limit is left.
    /// Content that waits for its upload is never deleted.
    public var diskCapacity: Int
    /// MIME types whose content is downloaded automatically. Nil means all types, an empty set none. Parameters of a type are ignored.
    public var autodownloadMIMETypes: Set<String>?
    /// The size in bytes of the largest content that is downloaded automatically. 0 means that none is.
    public var autodownloadMaximumContentSize: Int

    /// By default there is no limit of the disk, and no automatic download.
    public init(diskCapacity: Int = 0, autodownloadMIMETypes: Set<String>? = ["text/plain"], autodownloadMaximumContentSize: Int = 0) {
        self.diskCapacity = diskCapacity
        self.autodownloadMIMETypes = autodownloadMIMETypes
        self.autodownloadMaximumContentSize = autodownloadMaximumContentSize
    }

    /// Whether content is downloaded automatically.
    /// - Parameter wasPurged: whether it was on this device and was deleted. Such content is downloaded again only when the app asks for it.
    func downloads(mimeType: String, size: Int, wasPurged: Bool) -> Bool {
        guard !wasPurged, autodownloadMaximumContentSize > 0, size <= autodownloadMaximumContentSize else { return false }
        guard let types = autodownloadMIMETypes else { return true }
        let essence = MIMEType.essence(mimeType)
        return types.contains { MIMEType.essence($0) == essence }
    }
}
