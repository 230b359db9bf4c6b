// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import StrataModel

/// One change of one object in the local store, made by the app or by synchronization.
///
/// ```swift
/// for await batch in client.objectChanges {
///     for change in batch {
///         switch (change.object, change.kind) {
///         case (.message(let message), .create): show(message)
///         case (.conversation(let conversation), .update(let property)): refresh(conversation, property.name)
///         default: break
///         }
///     }
/// }
/// ```
///
/// Changes come in batches, after the store has them: creates before updates before deletes, conversations before their
/// messages. An object that was created and deleted in one batch is not in the batch. If it was created and updated,
/// only the creation is.
public struct ObjectChange: Sendable, Hashable {
    /// The object with its state after the change. After a deletion: the last state, with `isDeleted` set.
    public enum Object: Sendable, Hashable {
        case conversation(Conversation)
        case message(Message)
        case announcement(Announcement)
        case identity(Identity)
    }

    /// The kind of the change.
    public enum Kind: Sendable, Hashable {
        case create
        /// A property has a new value. Each changed property has its own change.
        case update(PropertyChange)
        case delete
    }

    /// The object that changed.
    public let object: Object
    /// The kind of the change.
    public let kind: Kind

    init(_ object: Object, _ kind: Kind) {
        self.object = object
        self.kind = kind
    }
}

/// A property whose value changed.
public struct PropertyChange: Sendable, Hashable {
    /// The property's name in LayerKit, for example `hasUnreadMessages` or `totalNumberOfMessages`.
    public let name: String
    /// The value before the change; nil if the property had none.
    public let before: Value?
    /// The value after the change; nil if the property has none.
    public let after: Value?

    /// A property value of any type.
    public enum Value: Sendable, Hashable {
        case bool(Bool)
        case int(Int64)
        case text(String)
        case date(Date)
        case metadata(Metadata)
        case participants(Set<UserID>)
        case message(MessageID)
        case conversation(ConversationID)
        case statuses([UserID: RecipientStatus])
        case parts([MessagePart])
        case texts([String: String])
    }
}
