// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The name that a client gave one of its changes, so that it can send the request again when the answer was lost: what was carried out under the name before
/// is answered as the first time, and not carried out again.
public struct Mutation: Hashable, Sendable {
    /// Chosen by the client; unique among all changes of its user for as long as the change log is kept.
    public let id: UUID
    /// Of the request, so that the same id with another request is noticed.
    public let fingerprint: UInt64

    /// Names a change.
    public init(id: UUID, fingerprint: UInt64) {
        self.id = id
        self.fingerprint = fingerprint
    }
}

/// Where a change is told: a client whose copy has come so far contains it.
public struct LogPosition: Hashable, Sendable {
    /// In the log of the conversation that was changed.
    public var position: Position?
    /// In the own log of the user who changed it.
    public var userPosition: Position?

    /// A change that stands in one of the logs, in both or in neither.
    public init(position: Position? = nil, userPosition: Position? = nil) {
        self.position = position
        self.userPosition = userPosition
    }

    /// A change that no log tells of.
    public static let nowhere = LogPosition()
}
