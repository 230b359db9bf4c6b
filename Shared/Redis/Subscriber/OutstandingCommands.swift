// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The commands without a response on one subscribing connection. The server responds in order: once for each channel,
/// except that an error answers the whole command.
///
/// The server also sends an unsolicited `sunsubscribe` when a slot has left it. It then refuses the client's own
/// unsubscription of the same channel with an error. To keep responses unambiguous, each SUNSUBSCRIBE is followed by a
/// PING, whose response ends both.
struct OutstandingCommands {
    enum Command: Equatable {
        case subscribe([String])
        case unsubscribe([String])
        case ping
    }

    private var commands = CircularBuffer<Command>(initialCapacity: 4)
    /// The number of answered channels of the first command, if it is a subscription.
    private var answered = 0

    var isEmpty: Bool { commands.isEmpty }

    mutating func sent(_ command: Command) { commands.append(command) }

    /// Records a `ssubscribe` message. Returns true if it is the next expected response.
    mutating func subscribed(_ channel: String) -> Bool {
        guard case .subscribe(let channels) = commands.first, channels[answered] == channel else { return false }
        answered += 1
        if answered == channels.count {
            commands.removeFirst()
            answered = 0
        }
        return true
    }

    /// Returns true if an unsubscription of this channel is pending. Otherwise the server ended the subscription
    /// itself.
    func isUnsubscribing(_ channel: String) -> Bool {
        guard case .unsubscribe(let channels) = commands.first else { return false }
        return channels.contains(channel)
    }

    /// Returns the command that a PONG ends; nil: none.
    mutating func pong() -> Command? {
        switch commands.first {
        case .ping, .unsubscribe: commands.removeFirst()
        case nil, .subscribe: nil
        }
    }

    /// Returns the command that an error answers; nil: none.
    mutating func refused() -> Command? {
        switch commands.first {
        case .subscribe where answered == 0: commands.removeFirst()
        case .unsubscribe: commands.first
        case .ping: commands.removeFirst()
        case nil, .subscribe: nil
        }
    }

    mutating func removeAll() {
        commands.removeAll()
        answered = 0
    }
}
