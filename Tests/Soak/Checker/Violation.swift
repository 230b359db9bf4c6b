// SPDX-License-Identifier: Apache-2.0

/// A broken promise with its description.
struct Violation: Sendable, Equatable, CustomStringConvertible {
    enum Kind: String, Sendable, CaseIterable {
        /// An acknowledged change is missing, or a client did not receive a change that concerned it.
        case lost
        /// A change occurred twice, or a client received it twice.
        case duplicated
        /// A client received changes out of order, or an earlier acknowledged change has the later position.
        case reordered
        /// A client received a change from a time when its user was not a participant.
        case leaked
        /// Positions are missing in a log.
        case gap
        /// A change exists that no client requested, or that was refused.
        case invented
        /// Counts, lists or trees disagree with the log.
        case inconsistent
        /// A client's final counts, metadata, participants or statuses differ from the server's view.
        case stale
        /// A user who has stopped typing still appears to be typing.
        case stuck
        /// An honest user was not served, although nothing was broken.
        case starved
        /// A connection broke the protocol.
        case protocolBroken
    }

    let kind: Kind
    let what: String

    var description: String { "\(kind.rawValue): \(what)" }
}
