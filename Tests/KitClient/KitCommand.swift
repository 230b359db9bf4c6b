// SPDX-License-Identifier: Apache-2.0

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
    /// The number of statement boundaries of the store after which the process ends itself with SIGKILL; nil: never.
    package var lastBoundary: Int?

    package init(app: String, server: String, folder: String, lastBoundary: Int?) {
        (self.app, self.server, self.folder, self.lastBoundary) = (app, server, folder, lastBoundary)
    }
}

/// A command to a client: one line of JSON on its standard input. The client executes its commands one at a time.
package struct KitCommand: Codable, Sendable {
    /// The action of a command. Conversations are named by their ids on the wire.
    package enum Action: Codable, Sendable, Hashable {
        case signIn(token: String)
        /// Creates a conversation with these users, and sends its first message.
        case create(others: [String], text: String)
        case send(conversation: String, text: String)
        case set(conversation: String, path: String, value: String)
        case add(conversation: String, user: String)
        case remove(conversation: String, user: String)
        /// Marks some unread messages as read.
        case read(conversation: String)
        /// Deletes the client's last message for all participants.
        case delete(conversation: String)
        /// Limits the size of files to that of the store's largest file plus this many bytes; nil: no limit.
        case limitFiles(room: Int?)
        /// Requests ``KitReport/state(number:pending:lines:)``.
        case state
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
    /// StrataKit accepted a change.
    case accepted(number: Int, objects: [String])
    /// StrataKit threw an error; it must not have changed anything.
    case thrown(number: Int, error: String)
    /// The server refused a change that StrataKit had accepted.
    case failed(operation: String, conversation: String?, messages: [String], error: String)
    /// The store could not be written during synchronization.
    case storeFailed(error: String)
    /// The number of pending changes, and the lines of ``KitComparison``.
    case state(number: Int, pending: Int, lines: [String])
}
