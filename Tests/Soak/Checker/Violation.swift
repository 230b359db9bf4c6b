// SPDX-License-Identifier: Apache-2.0

/// A promise that was broken, and by what.
struct Violation: Sendable, Equatable, CustomStringConvertible {
    enum Kind: String, Sendable, CaseIterable {
        /// An acknowledged change is not there, or a client was not told of a change that concerned it.
        case lost
        /// Something happened twice, or a client was told twice.
        case duplicated
        /// A client was told out of order, or what was acknowledged first has the later position.
        case reordered
        /// A client was told of what happened while it had no part in the conversation.
        case leaked
        /// Positions of a log are missing.
        case gap
        /// Something is there that no client asked for, or that was refused.
        case invented
        /// Counts, lists or trees are not what the log amounts to.
        case inconsistent
        /// A client was told other counts, metadata, participants or statuses than the server shows it when all is over.
        case stale
        /// A user who has long stopped typing seems to be typing.
        case stuck
        /// An honest user was not served although nothing was broken.
        case starved
        /// A connection broke its own rules.
        case protocolBroken
    }

    let kind: Kind
    let what: String

    var description: String { "\(kind.rawValue): \(what)" }
}
