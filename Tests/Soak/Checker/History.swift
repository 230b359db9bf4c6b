// SPDX-License-Identifier: Apache-2.0

/// What clients did to a system, what they were told, and what the system holds in the end; all that ``Checker`` judges by.
///
/// Moments are numbers that all clients of a run draw from one counter: if one event's number was drawn after another event had ended, its number is
/// greater. They say what was before what, never how long anything took.
struct History: Sendable {
    /// Something a client asked for.
    struct Operation: Sendable {
        enum Action: Sendable, Hashable {
            case send(message: String)
            /// No two operations of a history write the same value.
            case set(path: String, value: String)
            case delete(path: String)
            case add(user: String)
            case remove(user: String)
            case read(message: String)
            /// The user's conversations, of which nothing is kept.
            case list
            /// Everything there is.
            case readAll
        }

        enum Outcome: Sendable {
            /// A success was answered.
            case acknowledged
            /// An error that says that nothing was done.
            case refused
            /// No answer, or one that leaves it open.
            case unknown
        }

        let actor: String
        let conversation: String
        let action: Action
        let begun: Int
        let ended: Int
        let outcome: Outcome
        /// The last attempt was answered, if only by a refusal that leaves open what an earlier one did.
        var isAnswered = false
        /// The run ended before it was answered.
        var isCutShort = false
    }

    /// What one user's client was told about one conversation, in order.
    struct View: Sendable {
        enum Event: Sendable, Equatable {
            /// A point from which changes may come again: a new connection, or another replay on the same one.
            case beginAnew
            /// A packet. `what` tells packets of one position apart.
            case told(position: Int, what: String)
            /// The conversation as a whole, as it was at `position`, by the packet of its creation or by loading it.
            case shown(position: Int)
            /// The messages were loaded; the list holds all up to `position`.
            case listed(position: Int)
            /// It was removed from the client; what comes later is new to it.
            case gone
        }

        let user: String
        let conversation: String
        var events: [Event] = []
        /// What the client holds because of them.
        var mirror = Mirror()
    }

    /// A typing indicator as a client was told, and when in seconds since the run began.
    struct Typing: Sendable {
        let reader: String
        let typist: String
        let conversation: String
        let action: String
        let seconds: Double
    }

    /// A conversation, read when all was over.
    struct Conversation: Sendable {
        struct Change: Sendable {
            enum Kind: Sendable, Equatable {
                case created(participants: [String])
                case participants(added: [String], removed: [String])
                /// What took effect: path and new value, nil where something was removed.
                case metadata([Effect])
                case message(String)
                case messageDeleted(String)
                /// Told to some only.
                case receipts
                case deleted
            }

            struct Effect: Sendable, Equatable {
                let path: String
                let value: String?
            }

            let position: Int
            let kind: Kind

            /// Whether something that users had is gone for all of them.
            var isDeletion: Bool {
                switch kind {
                case .messageDeleted, .deleted: true
                default: false
                }
            }
        }

        struct Message: Sendable {
            let id: String
            let sender: String
            /// Those who have read it, of its recipients.
            let recipients: [String]
            let readers: Set<String>
        }

        let id: String
        var log: [Change]
        var participants: Set<String>
        var metadata: [String: String]
        var messages: [Message]
        /// `unread_message_count`, as each participant is shown it.
        var unread: [String: Int]
        /// The conversation and its messages, as each participant is shown them.
        var shown: [String: Mirror] = [:]
        /// The conversation as each of those is shown it who left.
        var kept: [String: Mirror] = [:]
        /// What each user is shown who may see it, also those who left.
        var counts: [String: Count] = [:]

        struct Count: Sendable {
            /// `unread_message_count`.
            let said: Int
            /// Messages with `is_unread`.
            let shown: Int
        }
    }

    var operations: [Operation] = []
    var views: [View] = []
    var typing: [Typing] = []
    var conversations: [Conversation] = []
    /// What the connections themselves found wrong: counters, responses after the change they belong to.
    var faults: [String] = []
    /// Nothing was broken. If some users were hostile, they kept within the limits: the others must be served as ever.
    var isUndisturbed = false
}
