// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

@testable import StrataKit

/// Compares a conversation on a device with the server's state.
struct StateComparison {
    let world: SimulatedWorld
    let device: SimulatedDevice
    let store: StoreReader
    let conversation: ModelConversation

    private var me: UserID { device.me }
    private func differ(_ what: String, _ here: some Any, _ there: some Any) {
        world.violation("\(device.name), \(conversation.id): \(what) \(here), at the server \(there)")
    }
    private func compare<Value: Equatable>(_ what: String, _ here: Value, _ there: Value) {
        if here != there { differ(what, here, there) }
    }

    func run() throws {
        guard let record = try store.conversationRecord(conversation.id), let view = conversation.views[me] else {
            return
        }
        compare("participants", record.participants, view.isIn ? conversation.participants : [])
        compare("metadata", record.metadata, view.left?.metadata ?? conversation.metadata)
        compare("distinct", record.isDistinct, view.left?.isDistinct ?? conversation.isDistinct)
        compare("total", record.totalCount, conversation.visible(to: me).count)
        compare("unread", record.unreadCount, conversation.unread(by: me))
        try compareMessages(view)
    }

    private func compareMessages(_ view: ModelView) throws {
        let ids = try store.db
            .cachedStatement(
                sql: "SELECT id FROM message WHERE conversation = ? AND position IS NOT NULL ORDER BY ordering"
            )
            .all([conversation.id.blob], in: store.db) { MessageID(rawValue: $0[0]) }
        let visible = conversation.visible(to: me)
        let surplus = Set(ids).subtracting(visible.map(\.id))
        if !surplus.isEmpty { differ("surplus messages", surplus, visible.map(\.id)) }
        let row = try Row.fetchOne(
            store.db, sql: "SELECT oldest, goal, applied FROM conversation_sync WHERE id = ?",
            arguments: [conversation.id.blob])
        if row == nil { differ("progress", "missing", conversation.head) }
        let oldest: Int64 = row?["oldest"] ?? .max
        if let goal: String = row?["goal"] { differ("goal", goal, "nothing to fetch") }
        // Not all changes are for this user.
        let applied: Int64 = row?["applied"] ?? 0
        if applied > conversation.views[me]?.left?.position ?? conversation.head {
            differ("applied", applied, conversation.head)
        }
        let wanted = visible.filter { $0.position * 8192 >= oldest || device.core.policy == .completeHistory }
        let missing = wanted.map(\.id).filter { !ids.contains($0) }
        if !missing.isEmpty { differ("lacking messages", missing, "from \(oldest)") }
        for message in visible where ids.contains(message.id) { try compare(message, view) }
    }

    private func compare(_ message: ModelMessage, _ view: ModelView) throws {
        guard let record = try store.messageRecord(message.id) else { return }
        compare("\(message.id) position", record.position, message.position * 8192)
        compare("\(message.id) unread", record.isUnread, conversation.isUnread(message, by: me))
        compare("\(message.id) sender", record.sender, message.sender)
        compare("\(message.id) sent", record.isSent && record.failure == nil, true)
        // A former participant receives neither receipts nor changes of parts.
        guard view.isIn else { return }
        compare(
            "\(message.id) parts", record.parts.map { String(decoding: $0.body ?? Data(), as: UTF8.self) },
            message.parts.map { $0["body"].string ?? "" })
        compare("\(message.id) statuses", record.statuses, message.statuses)
    }
}
