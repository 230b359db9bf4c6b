// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel
import StrataWire

/// A change in the form of the report `changes`: the kind as its number in the log, and `operations` as there. Objects
/// are left out; the page reads them through the Server API.
struct LiveChange: Encodable, Sendable {
    let position: Int64
    let kind: Int
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

    private static func content(_ content: Change.Content) -> (Int, String?, Operations?) {
        switch content {
        case .conversationCreated: (1, nil, nil)
        case .participantsChanged(let added, let removed, let distinctCleared, _):
            (
                2, nil,
                .participants(
                    .init(
                        added: added.map(\.userID.rawValue), removed: removed.map(\.rawValue),
                        distinctCleared: distinctCleared))
            )
        case .metadataChanged(let effects):
            (3, nil, .effects(.init(effects: effects.map { [$0.path.dotted, $0.value] })))
        case .conversationDeleted: (4, nil, nil)
        case .messageCreated(let id, _, _): (5, "\(id)", nil)
        case .messageDeleted(let id, _, _): (6, "\(id)", nil)
        case .receipts(let receipts):
            (7, receipts.first.map { "\($0.messageID)" }, .receipts(receipts.map { .init($0) }))
        case .allRead(let user, let position, _):
            (8, nil, .allRead(.init(user: user.rawValue, upTo: position.rawValue)))
        case .partsChanged(let id, _, _, _): (9, "\(id)", nil)
        }
    }

    /// The members that the page shows, by kind.
    enum Operations: Encodable, Sendable {
        case participants(Participants)
        case effects(Effects)
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
        let distinctCleared: Bool
    }

    struct Effects: Encodable, Sendable {
        /// Pairs of a path and a value; null: deleted.
        let effects: [[String?]]
    }

    struct Receipt: Encodable, Sendable {
        let user: String
        let messageId: String
        let ordinal: Int64
        /// 1 delivered, 2 read.
        let status: Int

        init(_ receipt: Change.Receipt) {
            (user, messageId) = (receipt.user.rawValue, "\(receipt.messageID)")
            (ordinal, status) = (receipt.ordinal, receipt.status.rawValue)
        }
    }

    struct AllRead: Encodable, Sendable {
        let user: String
        let upTo: Int64
    }
}
