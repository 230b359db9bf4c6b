// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The body of `POST /conversations` and the data of `Conversation.create` (docs/conformance.md §5.4).
public struct CreateConversationBody: Hashable, Sendable {
    /// The id chosen by the client; nil: none.
    public var id: ConversationID?
    /// The requested participants without duplicates. The creator may be missing. The service limits their number
    /// according to its settings.
    public var participants: [UserID]
    /// True for a distinct conversation, which is the default.
    public var isDistinct: Bool
    /// The metadata; nil if not given. For a distinct conversation, nil matches any metadata.
    public var metadata: MetadataTree?
    /// The disabled receipts, an extension member.
    public var receiptPolicy: ReceiptPolicy = []

    /// Parses the body.
    /// - Parameter sender: an app's own server does not participate itself, so it must name at least one participant.
    /// - Throws: ``Failure`` naming the invalid property.
    public init(_ json: JSONValue, from sender: RequestSender = .client) throws(Failure) {
        let members = try Members(sender == .server ? json.withoutEmptyIDs : json)
        guard let elements = try members.array("participants") else { throw members.missing("participants") }
        participants = try userIDs(elements, in: "participants", from: sender)
        if sender == .server, participants.isEmpty {
            throw members.invalid("participants", reason: "must name at least one user")
        }
        isDistinct = try members.bool("distinct") ?? true
        if try members.bool("delivery_receipts") == false { receiptPolicy.insert(.noDelivery) }
        if try members.bool("read_receipts") == false { receiptPolicy.insert(.noRead) }
        id = nil
        if let text = try members.string("id") {
            guard let id = ConversationID(parsing: text) else {
                throw members.invalid("id", reason: "is not the id of a conversation")
            }
            self.id = id
        }
        metadata = nil
        if let value = members["metadata"] { metadata = try MetadataBody.tree(value) }
    }
}
