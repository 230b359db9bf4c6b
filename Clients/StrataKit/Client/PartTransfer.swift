// SPDX-License-Identifier: Apache-2.0

/// The upload or download of a part's content.
public struct PartTransfer: Sendable, Hashable {
    /// Which way content goes.
    public enum Direction: Sendable, Hashable {
        case upload
        case download
    }

    /// Which way the content goes.
    public let direction: Direction
    /// The part, as it is when the event is published. Several parts may have the same content: an event comes for each.
    public let part: MessagePart
    /// How far the transfer is.
    public let progress: TransferProgress
}
