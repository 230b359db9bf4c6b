// SPDX-License-Identifier: Apache-2.0

/// What a client is, told once when its process starts.
package struct KitClientSettings: Codable, Sendable {
    /// The variable of the environment that holds it as JSON: with a clock of its own a process does not find its arguments.
    package static let variable = "STRATA_KIT_CLIENT"

    /// As StrataKit takes it.
    package var app: String
    package var server: String
    /// Where its store is.
    package var folder: String
    /// At so many boundaries of its store's statements the process ends itself with SIGKILL; nil: it does not.
    package var lastBoundary: Int?

    package init(app: String, server: String, folder: String, lastBoundary: Int?) {
        (self.app, self.server, self.folder, self.lastBoundary) = (app, server, folder, lastBoundary)
    }
}

/// What a client is told to do: a line of JSON on its standard input. It does one thing after the other.
package struct KitCommand: Codable, Sendable {
    /// Conversations are named by their ids on the wire.
    package enum Action: Codable, Sendable, Hashable {
        case signIn(token: String)
        /// A conversation with these users, and its first message.
        case create(others: [String], text: String)
        case send(conversation: String, text: String)
        case set(conversation: String, path: String, value: String)
        case add(conversation: String, user: String)
        case remove(conversation: String, user: String)
        /// Marks some unread messages as read.
        case read(conversation: String)
        /// Deletes the last message of its own, for all.
        case delete(conversation: String)
        /// Files may become so many bytes larger than the largest of the store is now; nil: as large as they like.
        case limitFiles(room: Int?)
        /// Asks for ``KitReport/state(number:pending:lines:)``.
        case state
    }

    package let number: Int
    package let action: Action

    package init(number: Int, action: Action) { (self.number, self.action) = (number, action) }
}

/// What a client says: a line of JSON on its standard output.
package enum KitReport: Codable, Sendable {
    /// The store is open; the signed-in user, if there is one.
    case started(user: String?)
    /// The store could not be opened; the process ends.
    case notOpened(error: String)
    /// A command is about to be carried out: the ids of what it is about, as far as the client gives or chooses them.
    case begins(number: Int, objects: [String])
    /// StrataKit has accepted a change.
    case accepted(number: Int, objects: [String])
    /// StrataKit has thrown an error, and must have changed nothing.
    case thrown(number: Int, error: String)
    /// A change that had been accepted was refused by the server.
    case failed(operation: String, conversation: String?, messages: [String], error: String)
    /// The store could not be written while synchronizing.
    case storeFailed(error: String)
    /// How many changes are pending, and the lines of ``KitComparison``.
    case state(number: Int, pending: Int, lines: [String])
}
