// SPDX-License-Identifier: Apache-2.0

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
