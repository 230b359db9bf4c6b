// SPDX-License-Identifier: Apache-2.0

/// The history of a run: the clients' operations, the packets they received, and the final state of the system.
/// ``Checker`` judges nothing else.
///
/// Moments are numbers that all clients of a run draw from one counter. If one number was drawn after another event had
/// ended, it is greater. Moments define an order, never a duration.
struct History: Sendable {
    struct Operation: Sendable {
        enum Action: Sendable, Hashable {
            case send(message: String)
            /// Sets a value. No two operations of a history write the same value.
            case set(path: String, value: String)
            case delete(path: String)
            case add(user: String)
            case remove(user: String)
            case read(message: String)
            /// Loads the list of the user's conversations and discards it.
            case list
            /// Marks everything as read.
            case readAll
        }

        enum Outcome: Sendable {
            case acknowledged
            /// The server answered with an error that guarantees that nothing was done.
            case refused
            /// There was no answer, or one that leaves the outcome open.
            case unknown
        }

        let actor: String
        let conversation: String
        let action: Action
        let begun: Int
        let ended: Int
        let outcome: Outcome
        /// True if the last attempt was answered, even if a refusal leaves the effect of an earlier attempt open.
        var isAnswered = false
        /// True if the run ended before the answer.
        var isCutShort = false
    }

    /// The packets about one conversation that one user's client received, in order.
    struct View: Sendable {
        enum Event: Sendable, Equatable {
            /// A point after which changes may be repeated: a new connection, or another replay on the same one.
            case restart
            /// A packet. `what` distinguishes packets with the same position.
            case received(position: Int, what: String)
            /// The whole conversation at `position`, from the packet of its creation or from a load.
            case shown(position: Int)
            /// A load of the messages. The list contains all messages up to `position`.
            case listed(position: Int)
            /// The conversation was removed from the client. Later changes are new to it.
            case removed
        }

        let user: String
        let conversation: String
        var events: [Event] = []
        /// The client's state after these events.
        var mirror = Mirror()
    }

    /// A typing indicator that a client received, with its time in seconds since the run began.
    struct Typing: Sendable {
        let reader: String
        let typist: String
        let conversation: String
        let action: String
        let seconds: Double
    }

    /// The final state of a conversation.
    struct Conversation: Sendable {
        struct Change: Sendable {
            enum Kind: Sendable, Equatable {
                case created(participants: [String])
                case participants(added: [String], removed: [String])
                /// The effects of a metadata change: each path with its new value, or nil if it was removed.
                case metadata([Effect])
                case message(String)
                case messageDeleted(String)
                /// A change of receipts, which only some users receive.
                case receipts
                case deleted
            }

            struct Effect: Sendable, Equatable {
                let path: String
                let value: String?
            }

            let position: Int
            let kind: Kind

            /// True if the change deletes an object for all users.
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
            let recipients: [String]
            /// The recipients who have read the message.
            let readers: Set<String>
        }

        let id: String
        var log: [Change]
        var participants: Set<String>
        var metadata: [String: String]
        var messages: [Message]
        /// The `unread_message_count` that each participant sees.
        var unread: [String: Int]
        /// The conversation and its messages as each participant sees them.
        var shown: [String: Mirror] = [:]
        /// The conversation as each former participant sees it.
        var kept: [String: Mirror] = [:]
        /// The counts that each user sees, including former participants.
        var counts: [String: Count] = [:]

        struct Count: Sendable {
            /// `unread_message_count`.
            let reported: Int
            /// The number of messages with `is_unread`.
            let shown: Int
        }
    }

    var operations: [Operation] = []
    var views: [View] = []
    var typing: [Typing] = []
    var conversations: [Conversation] = []
    /// The violations that the connections themselves detected: wrong counters, and responses after the change they
    /// belong to.
    var faults: [String] = []
    /// True if nothing was broken. Hostile users, if any, kept within the limits, so honest users must be served as
    /// usual.
    var isUndisturbed = false
}
