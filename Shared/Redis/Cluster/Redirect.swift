// SPDX-License-Identifier: Apache-2.0

/// An error reply that requests another action. The caller handles all other errors.
enum Redirect: Equatable {
    /// The slot has permanently moved to another server.
    case moved(slot: UInt16, RedisEndpoint)
    /// The key has already moved, while the migration of its slot continues. Send the command once to that server,
    /// preceded by ASKING.
    case ask(RedisEndpoint)
    /// The keys of the command are on both servers of a migrating slot. Retry shortly afterwards.
    case tryAgain
    /// The server does not know the script. Send its source.
    case scriptUnknown

    /// Parses an error reply. An empty host in it means the server that sent the reply, so it is replaced by that of
    /// `asked`.
    init?(_ error: RedisServerError, asked: RedisEndpoint) {
        switch error.kind {
        case "NOSCRIPT": self = .scriptUnknown
        case "TRYAGAIN": self = .tryAgain
        case "MOVED", "ASK":
            let words = error.text.split(separator: " ")
            guard words.count >= 3, let slot = UInt16(words[1]), slot < HashSlot.count,
                let colon = words[2].lastIndex(of: ":"),
                let port = Int(words[2][words[2].index(after: colon)...]), (1...65535).contains(port)
            else { return nil }
            var host = words[2][..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
            let endpoint = RedisEndpoint(host: host.isEmpty || host == "?" ? asked.host : String(host), port: port)
            self = words[0] == "MOVED" ? .moved(slot: slot, endpoint) : .ask(endpoint)
        default: return nil
        }
    }
}
