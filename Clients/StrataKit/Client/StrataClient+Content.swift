// SPDX-License-Identifier: Apache-2.0
public import Foundation

extension StrataClient {
    /// Downloads the content of a part and waits until it is on this device. An interrupted download resumes at the
    /// bytes it already has.
    ///
    /// Cancelling the task does not cancel the download; use ``transferProgress(of:)-(MessagePart)`` for that.
    /// - Returns: the file. It belongs to the client: copy it, and do not change it.
    /// - Throws:
    ///   - ``StrataError/Code/contentAlreadyAvailable``
    ///   - ``StrataError/Code/contentInlined``
    ///   - ``StrataError/Code/notConnected``
    ///   - ``StrataError/Code/messageDeleted``
    ///   - ``StrataError/Code/networkRequestFailed``
    ///   - `CancellationError` if the download was cancelled
    @discardableResult
    public func download(_ part: MessagePart) async throws -> URL { try await signedIn().download(part) }

    /// Removes the content of a part from this device. This affects all parts with the same content. The content is not
    /// downloaded again automatically.
    /// - Throws: ``StrataError/Code/contentAlreadyPurged``, ``StrataError/Code/contentInlined``,
    ///   ``StrataError/Code/objectNotSent``, ``StrataError/Code/messageDeleted``.
    public func purge(_ part: MessagePart) async throws { try await signedIn().purge(part) }

    /// Returns the progress of a part's upload or download; nil if no transfer is in progress.
    public func transferProgress(of part: MessagePart) async -> TransferProgress? {
        await engine?.transferProgress(of: part)
    }

    /// Returns the combined progress of all transfers of a message's parts. Parts without a transfer are not counted.
    public func transferProgress(of message: Message) async -> AggregateProgress {
        var transfers: [TransferProgress] = []
        for part in message.parts { if let progress = await transferProgress(of: part) { transfers.append(progress) } }
        return AggregateProgress(transfers)
    }

    /// The number of bytes of content on this device. This includes downloads in progress, uploaded files and pending
    /// uploads.
    public var currentDiskUtilization: Int {
        get async { await engine?.diskUtilization ?? 0 }
    }
}

extension MessagePart {
    /// Downloads the content of the part and waits until it is on this device.
    /// - Returns: the file; see ``StrataClient/download(_:)``.
    /// - Throws: the errors of ``StrataClient/download(_:)``.
    @discardableResult
    public func download() async throws -> URL { try await owner.get().download(self) }

    /// Removes the content of the part from this device.
    /// - Throws: the errors of ``StrataClient/purge(_:)``.
    public func purge() async throws { try await owner.get().purge(self) }

    /// Returns the bytes of the part. Content is read from its file. Each read counts as a use of the content; when the
    /// disk capacity is exceeded, the least recently used content is deleted first.
    /// - Throws: ``StrataError/Code/contentAlreadyPurged`` if the bytes are not on this device;
    ///   ``StrataError/Code/messageDeleted``; ``StrataError/Code/devicePersistenceFailure``.
    public func loadData() async throws -> Data { try await owner.get().signedIn().bytes(of: self) }
}

/// The upload or download of a part's content.
public struct PartTransfer: Sendable, Hashable {
    /// The direction of a transfer.
    public enum Direction: Sendable, Hashable {
        case upload
        case download
    }

    /// The direction of the transfer.
    public let direction: Direction
    /// The part, with its state at the time of the event. If several parts share the content, each of them has its own
    /// event.
    public let part: MessagePart
    /// The progress of the transfer.
    public let progress: TransferProgress
}
