// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The body of `POST /conversations` and the data of `Conversation.create` (docs/conformance.md §5.4).
public struct CreateConversationBody: Hashable, Sendable {
    /// The client's own id, if it gave one.
    public var id: ConversationID?
    /// Each once, as asked for: the creator may be missing. How many there may be is decided by the service, which knows the setting.
    public var participants: [UserID]
    /// True if the client did not say.
    public var isDistinct: Bool
    /// Nil: not given, which for a distinct match equals anything.
    public var metadata: MetadataTree?
    /// A member of our own: which receipts are switched off.
    public var receiptPolicy: ReceiptPolicy = []

    /// - Parameter sender: an app's own server does not take part, and so has to name at least one participant.
    /// - Throws: ``Failure`` naming the property at fault.
    public init(_ json: JSONValue, from sender: RequestSender = .client) throws(Failure) {
        let members = try Members(sender == .server ? json.withoutEmptyIDs : json)
        guard let elements = try members.array("participants") else { throw members.missing("participants") }
        participants = try userIDs(elements, in: "participants", from: sender)
        if sender == .server, participants.isEmpty { throw members.invalid("participants", reason: "must name at least one user") }
        isDistinct = try members.bool("distinct") ?? true
        if try members.bool("delivery_receipts") == false { receiptPolicy.insert(.noDelivery) }
        if try members.bool("read_receipts") == false { receiptPolicy.insert(.noRead) }
        id = nil
        if let text = try members.string("id") {
            guard let id = ConversationID(parsing: text) else { throw members.invalid("id", reason: "is not the id of a conversation") }
            self.id = id
        }
        metadata = nil
        if let value = members["metadata"] { metadata = try MetadataBody.tree(value) }
    }
}
