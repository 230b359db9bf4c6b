// SPDX-License-Identifier: Apache-2.0

/// An error reply by which a server says what to do instead; anything else is the caller's business.
enum Redirect: Equatable {
    /// The slot lives elsewhere, from now on.
    case moved(slot: UInt16, RedisEndpoint)
    /// This key is elsewhere already, while its slot is on the move: ask there, once, with ASKING.
    case ask(RedisEndpoint)
    /// The keys of one command are on both sides of a moving slot: try again in a moment.
    case tryAgain
    /// The script is not known to this server: send its source.
    case scriptUnknown

    /// `asked` replaces the host where the server left it empty, which means "the one you are talking to".
    init?(_ error: RedisServerError, asked: RedisEndpoint) {
        switch error.kind {
        case "NOSCRIPT": self = .scriptUnknown
        case "TRYAGAIN": self = .tryAgain
        case "MOVED", "ASK":
            let words = error.text.split(separator: " ")
            guard words.count >= 3, let slot = UInt16(words[1]), slot < HashSlot.count, let colon = words[2].lastIndex(of: ":"),
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
