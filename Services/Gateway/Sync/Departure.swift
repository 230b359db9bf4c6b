// SPDX-License-Identifier: Apache-2.0
import Model

/// How a user left a conversation.
struct Departure: Sendable, Equatable {
    /// Of the change by which he left, or of a later one.
    var position: Position
    /// The client was told of something he sees until here; zero if it had been removed from his devices.
    var seenUpTo: Position
}
