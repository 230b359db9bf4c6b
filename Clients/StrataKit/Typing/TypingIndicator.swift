// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
public import StrataModel

/// What a participant does with a message they have not sent yet. The raw values are the words on the wire.
public enum TypingAction: String, Hashable, Sendable, CaseIterable {
    /// The participant types.
    case begin = "started"
    /// The participant has stopped for a moment.
    case pause = "paused"
    /// The participant does not type any more.
    case finish = "finished"
}

/// What another participant does in a conversation at this moment. It is never stored, and never delivered later.
public struct TypingIndicator: Hashable, Sendable {
    /// The conversation they type in.
    public var conversationID: ConversationID
    /// Who types.
    public var sender: Identity
    /// What they do. A simple app shows ``TypingAction/begin`` as typing and everything else as not typing.
    public var action: TypingAction

    /// Describes what `sender` does in a conversation.
    public init(conversationID: ConversationID, sender: Identity, action: TypingAction) {
        self.conversationID = conversationID
        self.sender = sender
        self.action = action
    }
}

extension TypingIndicator {
    /// The packet that tells the server what this user does.
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
    /// From the last call to the moment when typing pauses.
    var pause = Duration.seconds(10)
    /// From a pause to its end.
    var finish = Duration.seconds(10)
    /// The shortest time between two signals that say the same.
    var repetition = Duration.seconds(2.5)

    /// Silence after which a typist is forgotten: a typist who is still there would have been heard of before.
    var silence: Duration { pause + finish + repetition + .seconds(2.5) }
}
