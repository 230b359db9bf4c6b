// SPDX-License-Identifier: Apache-2.0

/// A request method of the socket protocol (docs/conformance.md §12.3). The raw value is its name.
package enum SocketMethod: String, CaseIterable, Sendable {
    case readCounter = "Counter.read"
    case replay = "Event.replay"
    case createConversation = "Conversation.create"
    case createMessage = "Message.create"
    case subscribeToPresence = "Presence.subscribe"
    case unsubscribeFromPresence = "Presence.unsubscribe"
    case updatePresence = "Presence.update"
    case syncPresence = "Presence.sync"
}
