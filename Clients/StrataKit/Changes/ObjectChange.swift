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
/// Changes come in batches, after the store has them: creates before updates before deletes, conversations before their messages. An object that was created
/// and deleted in one batch is not in the batch. If it was created and updated, only the creation is.
public struct ObjectChange: Sendable, Hashable {
    /// The object as it is after the change. After a deletion it is the object as it was before, with `isDeleted` set.
    public enum Object: Sendable, Hashable {
        case conversation(Conversation)
        case message(Message)
        case announcement(Announcement)
        case identity(Identity)
    }

    /// What has happened to it.
    public enum Kind: Sendable, Hashable {
        case create
        /// One property has another value. There is one change for each such property.
        case update(PropertyChange)
        case delete
    }

    /// The object.
    public let object: Object
    /// What has happened to it.
    public let kind: Kind

    init(_ object: Object, _ kind: Kind) {
        self.object = object
        self.kind = kind
    }
}

/// A property that has another value now.
public struct PropertyChange: Sendable, Hashable {
    /// The name that LayerKit used, for example `hasUnreadMessages` or `totalNumberOfMessages`.
    public let name: String
    /// The value before; nil: the property had none.
    public let before: Value?
    /// The value now; nil: the property has none.
    public let after: Value?

    /// The value of any property.
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
