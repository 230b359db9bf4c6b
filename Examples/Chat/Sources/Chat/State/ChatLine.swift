// SPDX-License-Identifier: Apache-2.0

import StrataKit

/// A line that the user has entered: a message, or a command that begins with `/`.
enum ChatLine: Hashable, Sendable {
    case message(String)
    case new(Set<UserID>)
    case set(path: String, value: String)
    case unset([String])
    case add(Set<UserID>)
    case remove(Set<UserID>)
    case leave, offline, online, help, quit

    /// A command and its effect, for the help.
    struct Explanation: Hashable, Sendable {
        let usage: String
        let meaning: String
    }

    static let explanations = [
        Explanation(usage: "/new USER…", meaning: "a conversation with these users"),
        Explanation(usage: "/set KEY.PATH VALUE", meaning: "sets metadata, such as /set title Lunch"),
        Explanation(usage: "/unset KEY.PATH…", meaning: "deletes metadata"),
        Explanation(usage: "/add USER…", meaning: "adds participants"),
        Explanation(usage: "/remove USER…", meaning: "removes participants"),
        Explanation(usage: "/leave", meaning: "leaves the conversation"),
        Explanation(usage: "/offline, /online", meaning: "ends the connection, and makes it again"),
        Explanation(usage: "/help, /quit", meaning: "this text; the end"),
        Explanation(usage: "//…", meaning: "a message that begins with /"),
    ]

    /// The reason why a line is no valid command.
    struct Problem: Error, Hashable {
        let message: String
    }

    /// Parses a line that is not empty.
    init(parsing line: String) throws(Problem) {
        guard line.hasPrefix("/"), !line.hasPrefix("//") else {
            self = .message(line.hasPrefix("//") ? String(line.dropFirst()) : line)
            return
        }
        let words = line.split(separator: " ")
        let rest = Array(words.dropFirst())
        switch words.first {
        case "/new": self = .new(try Self.users(rest, example: "/new bob carol"))
        case "/set": self = try Self.assignment(line)
        case "/unset":
            guard !rest.isEmpty else { throw Self.usage("/unset theme.color") }
            self = .unset(rest.map(String.init))
        case "/add": self = .add(try Self.users(rest, example: "/add carol"))
        case "/remove": self = .remove(try Self.users(rest, example: "/remove carol"))
        case "/leave": self = .leave
        case "/offline": self = .offline
        case "/online": self = .online
        case "/help": self = .help
        case "/quit": self = .quit
        default: throw Problem(message: "There is no command \(words.first ?? "/"). F1 shows all of them.")
        }
    }

    /// Parses `/set`. The value is the rest of the line after the key path, including spaces.
    private static func assignment(_ line: String) throws(Problem) -> ChatLine {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count == 3 else { throw usage("/set theme.color blue") }
        return .set(path: String(parts[1]), value: String(parts[2]))
    }

    private static func users(_ words: [Substring], example: String) throws(Problem) -> Set<UserID> {
        guard !words.isEmpty else { throw usage(example) }
        var users: Set<UserID> = []
        for word in words {
            guard let user = UserID(word) else { throw Problem(message: "\(word) is not the id of a user.") }
            users.insert(user)
        }
        return users
    }

    private static func usage(_ example: String) -> Problem { Problem(message: "It is used like this: \(example)") }
}
