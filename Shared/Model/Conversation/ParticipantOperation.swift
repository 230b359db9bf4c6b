// SPDX-License-Identifier: Apache-2.0

/// One operation of a patch on the participants, as a client asked for it (docs/conformance.md §5.5).
public enum ParticipantOperation: Hashable, Sendable {
    /// No effect on one who is there.
    case add(UserID)
    /// No effect on one who is not.
    case remove(UserID)
    /// Replaces them all.
    case set([UserID])
}
