// SPDX-License-Identifier: Apache-2.0

package import ProtocolClient
package import StrataKit

/// The settings of a client process, passed at its start.
package struct KitClientSettings: Codable, Sendable {
    /// The environment variable that holds the settings as JSON. Arguments cannot be used: a process with a shifted
    /// clock does not find them.
    package static let variable = "STRATA_KIT_CLIENT"

    /// The app id in the form that StrataKit expects.
    package var app: String
    package var server: String
    /// The folder of the client's store.
    package var folder: String
    /// The number of boundaries of the store after which the process ends itself with SIGKILL; nil: never. Boundaries
    /// are the ends of statements or, with strata.js, of system calls.
    package var lastBoundary: Int?
    /// False if the client waits for the command to connect.
    package var connects: Bool

    package init(app: String, server: String, folder: String, lastBoundary: Int? = nil, connects: Bool = true) {
        (self.app, self.server, self.folder) = (app, server, folder)
        (self.lastBoundary, self.connects) = (lastBoundary, connects)
    }
}

/// A command to a client: one line of JSON on its standard input. The client executes its commands one at a time.
package struct KitCommand: Codable, Sendable {
    /// The action of a command. Conversations are named by their ids on the wire. An index selects one of the messages
    /// of the conversation, whatever their number. Metadata are texts by their key paths.
    package enum Action: Codable, Sendable, Hashable {
        case signIn(token: String)
        case connect
        case disconnect
        /// Creates a conversation with these users, and sends its first message.
        case create(others: [String], isDistinct: Bool, metadata: [String: String], text: String)
        case send(conversation: String, text: String)
        /// Replaces the parts of one of the user's own messages.
        case edit(conversation: String, index: Int, text: String)
        case set(conversation: String, path: String, value: String)
        case unset(conversation: String, path: String)
        /// Sets texts, and keeps all others.
        case merge(conversation: String, metadata: [String: String])
        /// Replaces all metadata. strata.js replaces the trees of the same keys, and keeps all others.
        case replace(conversation: String, metadata: [String: String])
        case add(conversation: String, user: String)
        case remove(conversation: String, user: String)
        /// Adds a user, or removes a participant. A user removes itself only if it `leaves`.
        case toggle(conversation: String, user: String, leaves: Bool)
        /// Marks some unread messages as read.
        case read(conversation: String)
        case readOne(conversation: String, index: Int)
        case readAll(conversation: String)
        /// Deletes the client's last message for all participants.
        case delete(conversation: String)
        case deleteOne(conversation: String, index: Int, mode: DeletionMode)
        case deleteConversation(conversation: String, mode: DeletionMode)
        case leave(conversation: String)
        /// Limits the size of files to that of the store's largest file plus this many bytes; nil: no limit. With
        /// strata.js, whose files are small, to 1/32 of these bytes.
        case limitFiles(room: Int?)
        /// Requests ``KitReport/state(number:pending:objects:)``.
        case state

        /// The conversation of the action; nil if there is none, or if the action creates it.
        package var conversation: String? {
            switch self {
            case .send(let id, _), .edit(let id, _, _), .set(let id, _, _), .unset(let id, _), .merge(let id, _),
                .replace(let id, _), .add(let id, _), .remove(let id, _), .toggle(let id, _, _), .read(let id),
                .readOne(let id, _), .readAll(let id), .delete(let id), .deleteOne(let id, _, _),
                .deleteConversation(let id, _), .leave(let id):
                id
            case .signIn, .connect, .disconnect, .create, .limitFiles, .state: nil
            }
        }
    }

    package let number: Int
    package let action: Action

    package init(number: Int, action: Action) { (self.number, self.action) = (number, action) }
}

/// A report of a client: one line of JSON on its standard output.
package enum KitReport: Codable, Sendable {
    /// The store is open. `user`: the signed-in user, if any.
    case started(user: String?)
    /// The store could not be opened, and the process ends.
    case notOpened(error: String)
    /// A command is about to be executed. `objects`: the ids of the objects concerned, as far as the client assigns or
    /// selects them.
    case begins(number: Int, objects: [String])
    /// The library accepted a change: it is in the client's store.
    case accepted(number: Int, objects: [String])
    /// The library threw an error; it must not have changed anything.
    case thrown(number: Int, error: String)
    /// The server refused a change that the library had accepted.
    case failed(operation: String, conversation: String?, messages: [String], error: String)
    /// The store could not be written during synchronization.
    case storeFailed(error: String)
    /// The number of pending changes, and the objects of ``KitComparison``.
    case state(number: Int, pending: Int, objects: [JSONValue])
}
