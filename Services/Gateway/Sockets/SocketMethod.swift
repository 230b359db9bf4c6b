// SPDX-License-Identifier: Apache-2.0

/// What can be asked for over a socket (docs/conformance.md §12.3), by the name it has there.
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
