// SPDX-License-Identifier: Apache-2.0

struct TestHook: Sendable {
    /// The path of the hook's URL.
    let path: String
    let version: String
    let events: [String]

    /// A hook for all events, and one for each older version.
    static let all = [
        TestHook(
            path: "/all", version: "3.0",
            events: [
                "Conversation.created", "Conversation.updated", "Conversation.deleted", "Participation.created",
                "Participation.deleted",
                "Message.created", "Message.updated", "Message.deleted", "MessagePart.created", "MessagePart.updated",
                "MessagePart.deleted",
                "Receipt.created", "Push",
            ]),
        TestHook(path: "/changes", version: "2.0", events: ["Conversation.updated", "Message.created"]),
        TestHook(path: "/messages", version: "1.0", events: ["message.sent"]),
    ]

    var takesReceipts: Bool { events.contains("Receipt.created") }

    func takes(_ content: HookDelivery.Content) -> Bool {
        let names =
            switch content {
            case .conversationCreated: ["Conversation.created"]
            case .conversationDeleted: ["Conversation.deleted"]
            case .metadata: ["Conversation.updated"]
            case .added: ["Participation.created"]
            case .removed: ["Participation.deleted"]
            case .message: ["Message.created", "message.sent"]
            case .messageDeleted: ["Message.deleted"]
            case .receipts: ["Receipt.created"]
            case .other: [String]()
            }
        return names.contains { events.contains($0) }
    }
}
