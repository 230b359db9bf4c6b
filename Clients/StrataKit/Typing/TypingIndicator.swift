// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
public import StrataModel

/// Whether a participant is typing a message. The raw values are the words on the wire.
public enum TypingAction: String, Hashable, Sendable, CaseIterable {
    /// The participant types.
    case begin = "started"
    /// The participant has stopped for a moment.
    case pause = "paused"
    /// The participant has stopped typing.
    case finish = "finished"
}

/// The typing of another participant in a conversation at this moment. It is never stored, and never delivered later.
public struct TypingIndicator: Hashable, Sendable {
    /// The conversation in which the participant types.
    public var conversationID: ConversationID
    /// The participant who types.
    public var sender: Identity
    /// The state of the typing. A simple app shows ``TypingAction/begin`` as typing and everything else as not typing.
    public var action: TypingAction

    /// An indicator of the typing of `sender` in a conversation.
    public init(conversationID: ConversationID, sender: Identity, action: TypingAction) {
        self.conversationID = conversationID
        self.sender = sender
        self.action = action
    }
}

extension TypingIndicator {
    /// The packet that reports this user's typing to the server.
    static func packet(_ action: TypingAction, in conversation: ConversationID) -> JSONValue {
        [
            "type": "signal",
            "body": ["type": "typing_indicator", "object": ["id": .string(conversation.layerID)], "data": ["action": .string(action.rawValue)]],
        ]
    }

    /// Reads a packet of the type `signal`. The identity has what the packet says of it: the user id, the display name and the picture.
    /// - Returns: nil if the packet is no typing indicator, or has an action or ids that this version does not know.
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

/// The periods of typing indicators. They must be those of the server; the defaults are the server's defaults.
struct TypingPeriods: Hashable, Sendable {
    /// The time from the last call until typing pauses.
    var pause = Duration.seconds(10)
    /// The time from a pause until typing ends.
    var finish = Duration.seconds(10)
    /// The shortest time between two equal signals.
    var repetition = Duration.seconds(2.5)

    /// The silence after which a typist is forgotten. A signal of a typist who is still there would have arrived before.
    var silence: Duration { pause + finish + repetition + .seconds(2.5) }
}
