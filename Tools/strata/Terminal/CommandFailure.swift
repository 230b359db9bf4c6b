// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import Postgres

/// The failure of a command: a sentence for the person at the terminal, and the exit status of the process.
public struct CommandFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The exit statuses that scripts can distinguish, from `sysexits.h`.
    public enum Status: Int32, Sendable {
        /// An argument, such as an id, a file or a value, is wrong.
        case usage = 64
        /// A named file does not exist or is unreadable.
        case noInput = 66
        /// A required program, server or port is unavailable.
        case unavailable = 69
        /// An internal error of the program or the machine.
        case software = 70
        /// A file cannot be written.
        case cannotCreate = 73
        /// Another process holds the resource; a retry may succeed.
        case temporary = 75
        /// A setting is wrong.
        case configuration = 78
    }

    /// A whole sentence, without the name of the command.
    public let message: String
    /// The exit status of the process.
    public let status: Status

    /// Creates a failure.
    public init(_ status: Status, _ message: String) {
        self.status = status
        self.message = message
    }

    /// Converts a known error. nil: the argument parser has to show the error.
    init?(of error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as LocalServerError:
            self.init(error.code == .portInUse ? .configuration : .unavailable, error.message)
        case let error as PostgresError:
            self.init(error.code == .configuration ? .configuration : .unavailable, Self.sentence(for: error))
        default: return nil
        }
    }

    /// Returns the message for a database that an unreleased version created.
    /// - Parameter begin: The words that tell the operator how to start with a new database.
    static func otherSchema(begin: String) -> String {
        """
        An unreleased version of Strata made this database, and it cannot be migrated. Save its data with pg_dump if \
        you need it, then \(begin).
        """
    }

    /// Returns a sentence for a database error. Unlike a log message it contains the server's text, because this is the
    /// operator's terminal and the statements are the command's own.
    private static func sentence(for error: PostgresError) -> String {
        let detail = error.serverDetail.map { ": \($0.onOneLine)" } ?? error.reason.map { " (\($0))." } ?? "."
        switch error.code {
        case .connectionUnavailable: return "The database cannot be reached\(detail)"
        case .deadlineExceeded: return "The database does not answer."
        case .configuration: return "The database's URL cannot be used (\(error.reason ?? "it is not understood"))."
        case .server where error.sqlState == "3F000" || error.sqlState == "42P01":
            return "The database has no Strata schema yet. Make it with: strata migrate"
        case .otherSchema: return otherSchema(begin: "begin with an empty database")
        default:
            let why = error.serverDetail.map { ": \($0.onOneLine)" } ?? "."
            return "The database refused (\(error.reason ?? "\(error.code)"))\(why)"
        }
    }

    /// The message.
    public var description: String {
        message
    }
}

extension String {
    /// The words of a text of several lines, separated by one space.
    var onOneLine: String {
        split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
