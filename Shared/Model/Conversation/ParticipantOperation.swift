// SPDX-License-Identifier: Apache-2.0

/// An operation of a client's patch of the participants (docs/conformance.md §5.5).
public enum ParticipantOperation: Hashable, Sendable {
    /// Adds a participant. No effect on a user who already takes part.
    case add(UserID)
    /// Removes a participant. No effect on a user who does not take part.
    case remove(UserID)
    /// Replaces all participants.
    case set([UserID])
}
