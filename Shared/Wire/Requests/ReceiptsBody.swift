// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The body of `POST /conversations/:uuid/receipts`: a receipt for several messages of a conversation.
public struct ReceiptsBody: Hashable, Sendable {
    /// The maximum number of messages in a request.
    public static let limit = 1000

    /// The kind of the receipt.
    public var kind: ReceiptKind
    /// The messages without duplicates, at least one.
    public var messages: [MessageID]

    /// Parses the body.
    /// - Throws: ``Failure`` naming `type`, `ids` or an element of `ids`.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        kind = try ReceiptBody(json).kind
        guard let elements = try members.array("ids") else { throw members.missing("ids") }
        guard (1...ReceiptsBody.limit).contains(elements.count) else {
            throw members.invalid("ids", reason: "must name 1 to \(ReceiptsBody.limit) messages")
        }
        var seen: Set<MessageID> = []
        messages = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element, let id = MessageID(parsing: text) else {
                throw .invalid("ids.\(index)", reason: "is not the id of a message")
            }
            if seen.insert(id).inserted { messages.append(id) }
        }
    }
}
