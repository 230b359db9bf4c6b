// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// What a catch-up is told, and what it says.
extension CatchUp {
    /// Why, and from where.
    package enum Reason: Sendable {
        /// A new socket whose client did not ask for a replay: it loaded its lists over REST just before (a margin covers that).
        case opened
        /// `Event.replay`.
        case replay(since: Timestamp)
        /// The user is in these conversations since after these positions.
        case joined([ConversationID: Position])

        package var isReplay: Bool { if case .replay = self { true } else { false } }
    }

    /// What has happened.
    package enum Event: Sendable {
        /// Everything that is published from now on to what ``Effect/listen(_:)`` named will be heard.
        case listening
        /// - took: how long it took to be answered.
        case baseline(Baseline, took: Duration)
        case page(LogPage)
        case lookedUp(ViewLookups.Answer)
        /// The channel has taken all of it.
        case sent
        /// How far the fan-out is in the conversations that ``Effect/compare(_:user:)`` named, and in the user's own log.
        case compared([Position], user: Position?)
        case attached(Attachment.Refusal)
        case rested
        /// A service could not be asked.
        case failed(Failure)
    }

    /// What is to be done, in this order; only the last one is answered by an event.
    package enum Effect: Sendable {
        /// Keep these conversations subscribed until the end, and wait until everything published to them and to the user will be heard. Then ``Event/listening``.
        case listen([ConversationID])
        /// Ask where the user stands, since this time or, without one, since the socket opened, and so much earlier. Then ``Event/baseline(_:took:)``.
        case askBaseline(since: Timestamp?, margin: Duration)
        /// The database showed this time and this epoch a moment ago.
        case learn(Timestamp, epoch: String)
        /// Read a page of these logs after these positions, with about so many entries. Then ``Event/page(_:)``.
        case read([ConversationID: Position], userAfter: Position?, limit: Int)
        /// Then ``Event/lookedUp(_:)``.
        case lookUp(ViewLookups.Request)
        /// Send these as the channel takes them, stamped no later than `owedSince`. Then ``Event/sent``.
        case send([ReplayItem], owedSince: Timestamp?)
        /// Tell the fan-out where the reading ended, and ask how far it is. Then ``Event/compared(_:user:)``.
        case compare([(id: ConversationID, position: Position)], user: Position?)
        /// On the socket's loop. Then ``Event/attached(_:)``.
        case attach(Attachment)
        /// Tell the fan-out that the log may not be the log that it was.
        case doubt
        /// Then ``Event/rested``.
        case rest(Rest)
        /// Keep nothing subscribed any more. No event follows.
        case end(End)
    }

    /// Why a catch-up pauses.
    package enum Rest: Sendable {
        /// A service could not be asked, and the client would not ask once more.
        case untilServiceReturns(Failure)
        /// The fan-out was handed changes that the log does not hold.
        case inDoubt
    }

    /// How a catch-up ended.
    package enum End: Sendable {
        /// The socket is attached to the fan-out.
        case present(Outcome)
        /// A service could not be asked; the socket is attached to nothing new.
        case failed(Failure)
        /// More is owed than one catch-up brings. A client that comes back and replays goes on where this one ended.
        case tooMuch
    }

    /// What a catch-up that reached the present came to.
    package struct Outcome: Sendable {
        /// The log reached back as far as was asked for.
        package var isComplete = true
        /// Of the database that was read; empty where it was not asked for, or the service did not say.
        package var epoch = ""
        /// Up to then all logs have been read, by the database's clock; nil for logs that were joined.
        package var asOf: Timestamp?
        /// Conversations that could not be shown, and up to where their logs were read.
        package var setAside: [ConversationID: Position] = [:]
    }
}
