// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel
import StrataWire

/// A change in the form of the report `changes`. Objects are left out; the page reads them through the Server API.
struct LiveChange: Encodable, Sendable {
    let position: Int64
    let kind: String
    let actor: String
    let at: String
    let messageId: String?
    let operations: Operations?

    init(_ change: Change) {
        position = change.position.rawValue
        actor = change.actor?.rawValue ?? ""
        at = ISO8601.string(change.createdAt)
        (kind, messageId, operations) = Self.content(change.content)
    }

    private static func content(_ content: Change.Content) -> (String, String?, Operations?) {
        switch content {
        case .conversationCreated: ("conversation_created", nil, nil)
        case .participantsChanged(let added, let removed, _, _):
            (
                "participants_changed", nil,
                .participants(.init(added: added.map(\.userID.rawValue), removed: removed.map(\.rawValue)))
            )
        case .metadataChanged(let effects):
            ("metadata_changed", nil, .effects(effects.map { .init(path: $0.path.dotted, value: $0.value) }))
        case .conversationDeleted: ("conversation_deleted", nil, nil)
        case .messageCreated(let id, _, _): ("message_created", "\(id)", nil)
        case .messageDeleted(let id, _, _): ("message_deleted", "\(id)", nil)
        case .receipts(let receipts): ("receipts", nil, .receipts(receipts.map { .init($0) }))
        case .allRead(let user, let position, _):
            ("all_read", nil, .allRead(.init(user: user.rawValue, upTo: position.rawValue)))
        case .partsChanged(let id, _, _, _): ("parts_changed", "\(id)", nil)
        }
    }

    /// The members that the page shows, by kind.
    enum Operations: Encodable, Sendable {
        case participants(Participants)
        case effects([Effect])
        case receipts([Receipt])
        case allRead(AllRead)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .participants(let value): try value.encode(to: encoder)
            case .effects(let value): try value.encode(to: encoder)
            case .receipts(let value): try value.encode(to: encoder)
            case .allRead(let value): try value.encode(to: encoder)
            }
        }
    }

    struct Participants: Encodable, Sendable {
        let added: [String]
        let removed: [String]
    }

    struct Effect: Encodable, Sendable {
        let path: String
        /// The new value; null: the path was deleted.
        let value: String?

        private enum CodingKeys: CodingKey {
            case path, value
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(path, forKey: .path)
            try container.encode(value, forKey: .value)
        }
    }

    struct Receipt: Encodable, Sendable {
        let user: String
        let messageId: String
        let status: String

        init(_ receipt: Change.Receipt) {
            (user, messageId) = (receipt.user.rawValue, "\(receipt.messageID)")
            status = receipt.status == .read ? "read" : "delivered"
        }
    }

    struct AllRead: Encodable, Sendable {
        let user: String
        let upTo: Int64
    }
}
