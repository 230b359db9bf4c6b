// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An idempotency key: a client names a change with it, so that it can retry the request after a lost response. A
/// change already carried out under the key is not repeated; the first response is returned.
public struct IdempotencyKey: Hashable, Sendable {
    /// The key, chosen by the client. It is unique among all changes of the user within the change log's retention
    /// time.
    public let id: UUID
    /// A hash of the request, which detects the reuse of the key for a different request.
    public let fingerprint: UInt64

    /// Creates an idempotency key.
    public init(id: UUID, fingerprint: UInt64) {
        self.id = id
        self.fingerprint = fingerprint
    }
}

/// The positions at which the logs contain a change. A client whose copy has reached them has applied the change.
public struct LogPosition: Hashable, Sendable {
    /// The position in the log of the changed conversation; nil if that log does not contain the change.
    public var position: Position?
    /// The position in the own log of the user who made the change; nil if that log does not contain it.
    public var userPosition: Position?

    /// Creates the position of a change that is in one of the logs, in both or in neither.
    public init(position: Position? = nil, userPosition: Position? = nil) {
        self.position = position
        self.userPosition = userPosition
    }

    /// The position of a change that no log contains.
    public static let empty = LogPosition()
}
