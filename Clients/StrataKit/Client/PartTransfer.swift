// SPDX-License-Identifier: Apache-2.0

/// The upload or download of a part's content.
public struct PartTransfer: Sendable, Hashable {
    /// The direction of a transfer.
    public enum Direction: Sendable, Hashable {
        case upload
        case download
    }

    /// Whether the content is uploaded or downloaded.
    public let direction: Direction
    /// The part, as it is when the event is published. Several parts may have the same content: an event comes for each.
    public let part: MessagePart
    /// The progress of the transfer.
    public let progress: TransferProgress
}
