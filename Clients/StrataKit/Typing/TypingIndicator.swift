// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
public import StrataModel

/// The typing state of a participant. The raw values are the words on the wire.
public enum TypingAction: String, Hashable, Sendable, CaseIterable {
    /// The participant is typing.
    case begin = "started"
    /// The participant has paused.
    case pause = "paused"
    /// The participant has stopped typing.
    case finish = "finished"
}

/// A participant's current typing in a conversation. It is never stored, and never delivered later.
public struct TypingIndicator: Hashable, Sendable {
    /// The conversation in which the participant is typing.
    public var conversationID: ConversationID
    /// The participant who is typing.
    public var sender: Identity
    /// The typing state. A simple app shows ``TypingAction/begin`` as typing and everything else as not typing.
    public var action: TypingAction

    /// Creates an indicator.
    public init(conversationID: ConversationID, sender: Identity, action: TypingAction) {
        self.conversationID = conversationID
        self.sender = sender
        self.action = action
    }
}

extension TypingIndicator {
    static func packet(_ action: TypingAction, in conversation: ConversationID) -> JSONValue {
        [
            "type": "signal",
            "body": [
                "type": "typing_indicator", "object": ["id": .string(conversation.layerID)],
                "data": ["action": .string(action.rawValue)],
            ],
        ]
    }

    /// Parses a packet of the type `signal`. The identity contains only the members of the packet: the user id, the
    /// display name and the picture.
    /// - Returns: nil if the packet is not a typing indicator, or has an unknown action or unknown ids.
    init?(packet: JSONValue) {
        let body = packet["body"]
        let sender = body["data"]["sender"]
        guard packet["type"].string == "signal", body["type"].string == "typing_indicator",
            let conversationID = body["object"]["id"].string.flatMap({ ConversationID(parsing: $0) }),
            let userID = sender["id"].string.flatMap({ UserID(parsing: $0) }),
            let action = body["data"]["action"].string.flatMap({ TypingAction(rawValue: $0) })
        else { return nil }
        var identity = Identity(userID: userID)
        identity.displayName = sender["display_name"].string
        identity.avatarImageURL = sender["avatar_url"].string
        self.init(conversationID: conversationID, sender: identity, action: action)
    }
}

/// The timeouts of typing indicators. They must match those of the server; the defaults are the server's defaults.
struct TypingPeriods: Hashable, Sendable {
    /// The time from the last call until `pause`.
    var pause = Duration.seconds(10)
    /// The time from `pause` until `finish`.
    var finish = Duration.seconds(10)
    /// The minimum time between two equal signals.
    var repetition = Duration.seconds(2.5)

    /// The time without a signal after which a typist expires. A typist who is still typing would have sent a signal
    /// before.
    var silence: Duration { pause + finish + repetition + .seconds(2.5) }
}
