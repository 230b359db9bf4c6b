// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import Postgres

/// Why a command could not do what it was told: a sentence for the person at the terminal, and the status the process ends with.
public struct CommandFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The statuses of `sysexits.h` that scripts can tell apart.
    public enum Status: Int32, Sendable {
        /// What was given (an id, a file, a value) is not right.
        case usage = 64
        /// A file that was named is not there or cannot be read.
        case noInput = 66
        /// Something needed is not there: a program, a server, a port.
        case unavailable = 69
        /// A defect of ours or of the machine.
        case software = 70
        /// A file cannot be written.
        case cannotCreate = 73
        /// Another process is at it; the same command may work later.
        case temporary = 75
        /// A setting is wrong.
        case configuration = 78
    }

    /// A whole sentence, without the name of the command.
    public let message: String
    /// The process's status.
    public let status: Status

    /// Makes a failure.
    public init(_ status: Status, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The failure an error of ours amounts to; nil for what the argument parser has to show.
    init?(of error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as LocalServerError: self.init(error.code == .portInUse ? .configuration : .unavailable, error.message)
        case let error as PostgresError: self.init(error.code == .configuration ? .configuration : .unavailable, Self.sentence(for: error))
        default: return nil
        }
    }

    /// The refusal of a database that an unreleased version made.
    /// - Parameter begin: the words for beginning anew.
    static func otherSchema(begin: String) -> String {
        "An unreleased version of Strata made this database, and it cannot be migrated. Save its data with pg_dump if you need it, then \(begin)."
    }

    /// The server's own words are shown here, unlike in logs: this is the operator's terminal, and the statements are ours.
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
    /// The words with one space between them, for what others say in several lines.
    var onOneLine: String {
        split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
