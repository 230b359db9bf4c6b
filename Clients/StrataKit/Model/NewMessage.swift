// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
public import StrataModel

/// A message that has not been sent. It belongs to no conversation, and can be sent once.
public struct NewMessage: Sendable, Hashable, Identifiable {
    /// The id of the future message.
    public let id: MessageID
    let parts: [NewMessagePart]
    let notification: Notification?

    /// The options of a message.
    public struct Options: Sendable, Hashable {
        /// The notification for recipients who are not online; nil: none.
        public var notification: Notification?
        /// Creates options with this notification.
        public init(notification: Notification? = nil) { self.notification = notification }
    }

    /// The push notification of a message.
    public struct Notification: Sendable, Hashable {
        /// The title line; nil for none.
        public var title: String?
        /// The body text.
        public var text: String
        /// The name of a sound; nil for none.
        public var sound: String?
        /// Creates a notification with this text.
        public init(_ text: String, title: String? = nil, sound: String? = nil) {
            self.text = text
            self.title = title
            self.sound = sound
        }

        var json: JSONValue {
            var json: JSONValue = ["text": .string(text)]
            if let title { json["title"] = .string(title) }
            if let sound { json["sound"] = .string(sound) }
            return json
        }
    }
}
