// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// The events and effects of a catch-up.
extension CatchUp {
    /// The reason for a catch-up, and the time or positions from which it starts.
    package enum Reason: Sendable {
        /// A new socket whose client did not request a replay. It loaded its lists over REST shortly before; a margin
        /// covers that time.
        case opened
        /// An `Event.replay` request.
        case replay(since: Timestamp)
        /// An addition of the user to these conversations, each since a change after the given position.
        case joined([ConversationID: Position])

        package var isReplay: Bool { if case .replay = self { true } else { false } }
    }

    package enum Event: Sendable {
        /// The subscriptions of ``Effect/listen(_:)`` are confirmed. Publications from now on will be received.
        case listening
        /// The subscriptions of ``Effect/listenToList`` are confirmed: those to these conversations and to the user's
        /// channel.
        case listeningToList([ConversationID])
        /// - took: the time between request and answer.
        case baseline(Baseline, took: Duration)
        case page(LogPage)
        case lookedUp(ViewLookups.Answer)
        /// The channel has accepted all items.
        case sent
        /// The fan-out's last positions in the conversations of ``Effect/reportPositions(_:user:)``, and in the user's
        /// own log.
        case fanOutPositions([Position], user: Position?)
        case attached(Attachment.Refusal)
        case rested
        /// A service call failed.
        case failed(Failure)
    }

    /// An action for the driver. Actions are performed in the order given; only the last one is answered by an event.
    package enum Effect: Sendable {
        /// Keeps the conversations on the user's list subscribed until the end, and waits until the subscriptions to
        /// them and to the user's channel are confirmed. Answered by ``Event/listeningToList(_:)``.
        case listenToList
        /// Keeps these conversations subscribed until the end, and waits until the subscriptions to them and to the
        /// user's channel are confirmed. Answered by ``Event/listening``.
        case listen([ConversationID])
        /// Requests the baseline. Answered by ``Event/baseline(_:took:)``.
        /// - since: the start of a replay. nil: ``CatchUpTiming/openingMargin`` and `margin` before the socket opened.
        /// - margin: unused for a replay.
        case askBaseline(since: Timestamp?, margin: Duration)
        /// Passes on the time and the epoch that the database showed a moment ago.
        case learn(Timestamp, epoch: String)
        /// Reads a page of about `limit` entries from these logs, after these positions. Answered by
        /// ``Event/page(_:)``.
        case read([ConversationID: Position], userAfter: Position?, limit: Int)
        /// Looks up conversations. Answered by ``Event/lookedUp(_:)``.
        case lookUp(ViewLookups.Request)
        /// Sends these items as the channel accepts them. Answered by ``Event/sent``.
        /// - stampLimit: the latest time that the packets may carry. nil: no limit.
        case send([ReplayItem], stampLimit: Timestamp?)
        /// Reports the end positions of the reading to the fan-out and requests its positions. Answered by
        /// ``Event/fanOutPositions(_:user:)``.
        case reportPositions([(id: ConversationID, position: Position)], user: Position?)
        /// Attaches the socket on its loop. Answered by ``Event/attached(_:)``.
        case attach(Attachment)
        /// Tells the fan-out that the database history may have changed.
        case scheduleEpochCheck
        /// Pauses. Answered by ``Event/rested``.
        case rest(Rest)
        /// Ends the subscriptions of this catch-up. No event follows.
        case end(End)
    }

    /// The reason for a pause.
    package enum Rest: Sendable {
        /// A service call failed, and the client would not repeat its request.
        case untilServiceReturns(Failure)
        /// The fan-out received changes that the log does not contain.
        case inDoubt
    }

    package enum End: Sendable {
        /// The socket is attached to the fan-out.
        case present(Outcome)
        /// A service call failed. The socket is attached to nothing new.
        case failed(Failure)
        /// The remaining changes exceed one catch-up. A client that reconnects and replays continues where this one
        /// ended.
        case tooMuch
    }

    /// The result of a catch-up that reached the present.
    package struct Outcome: Sendable {
        /// True if the log reaches back to the requested time.
        package var isComplete = true
        /// The epoch of the database that was read. Empty if it was not requested, or if the service did not send it.
        package var epoch = ""
        /// The time up to which all logs have been read, by the database's clock. Nil for a catch-up that joined
        /// conversations.
        package var asOf: Timestamp?
        /// Conversations that could not be sent, with the positions up to which their logs were read.
        package var setAside: [ConversationID: Position] = [:]
    }
}

/// An item to send during a catch-up.
package enum ReplayItem: Sendable {
    case change(Change)
    /// The current state of a conversation, sent because of this change.
    case conversation(ConversationView, Change)
    /// The current state of a conversation, sent without a change in the log that causes it.
    case conversationNow(ConversationView, at: Position)
    case userChange(UserChange)

    /// The latest time that packets of a replay may carry with this item. Nil: no later than the item before it.
    package var createdAt: Timestamp? {
        switch self {
        case .change(let change), .conversation(_, let change): change.createdAt
        case .conversationNow: nil
        case .userChange(let change): change.createdAt
        }
    }
}
