// SPDX-License-Identifier: Apache-2.0
public import Foundation

extension StrataClient {
    /// Downloads the content of a part, and waits until it is on this device. What was downloaded before a connection was lost is not downloaded again. Ending the
    /// task does not end the download; ``transferProgress(of:)-(MessagePart)`` can.
    /// - Returns: the file. It belongs to the client: copy it, and do not change it.
    /// - Throws: ``StrataError/Code/contentAlreadyAvailable``, ``StrataError/Code/contentInlined``, ``StrataError/Code/notConnected``,
    ///   ``StrataError/Code/messageDeleted``, ``StrataError/Code/networkRequestFailed``, `CancellationError` if the download was cancelled.
    @discardableResult
    public func download(_ part: MessagePart) async throws -> URL { try await signedIn().download(part) }

    /// Removes the content of a part from this device, and with it that of all parts with the same content. It is not downloaded again without being asked for.
    /// - Throws: ``StrataError/Code/contentAlreadyPurged``, ``StrataError/Code/contentInlined``, ``StrataError/Code/objectNotSent``,
    ///   ``StrataError/Code/messageDeleted``.
    public func purge(_ part: MessagePart) async throws { try await signedIn().purge(part) }

    /// The progress of the upload or download of a part; nil if there is none at this moment.
    public func transferProgress(of part: MessagePart) async -> TransferProgress? { await engine?.transferProgress(of: part) }

    /// The progress of the uploads or downloads of all parts of a message together. Parts without a transfer are not counted.
    public func transferProgress(of message: Message) async -> AggregateProgress {
        var transfers: [TransferProgress] = []
        for part in message.parts { if let progress = await transferProgress(of: part) { transfers.append(progress) } }
        return AggregateProgress(transfers)
    }

    /// Bytes of content on this device: downloaded, being downloaded, sent from here, and waiting to be sent.
    public var currentDiskUtilization: Int {
        get async { await engine?.diskUtilization ?? 0 }
    }
}

extension MessagePart {
    /// Downloads the content of the part, and waits until it is on this device.
    /// - Returns: as ``StrataClient/download(_:)``.
    /// - Throws: as ``StrataClient/download(_:)``.
    @discardableResult
    public func download() async throws -> URL { try await owner.get().download(self) }

    /// Removes the content of the part from this device.
    /// - Throws: as ``StrataClient/purge(_:)``.
    public func purge() async throws { try await owner.get().purge(self) }

    /// The bytes of the part, also if they are in a file. Of content this counts as its last use, which decides what goes when the disk's share is full.
    /// - Throws: ``StrataError/Code/contentAlreadyPurged`` if they are not on this device, ``StrataError/Code/messageDeleted``,
    ///   ``StrataError/Code/devicePersistenceFailure``.
    public func loadData() async throws -> Data { try await owner.get().signedIn().bytes(of: self) }
}
