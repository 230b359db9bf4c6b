// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// What was sent on one subscribing connection and is not answered. The server answers in order: once for each channel, except that an error
/// stands for the whole command.
///
/// It may also say `sunsubscribe` unasked, when a slot has left it, and then refuses our own unsubscription of the same channel with an error. So
/// that nothing after it can be mistaken for its answer, each SUNSUBSCRIBE is followed by a PING, whose answer ends both.
struct OutstandingCommands {
    enum Command: Equatable {
        case subscribe([String])
        case unsubscribe([String])
        case ping
    }

    private var commands = CircularBuffer<Command>(initialCapacity: 4)
    /// How many channels of the first command are answered, if it is a subscription.
    private var answered = 0

    var isEmpty: Bool { commands.isEmpty }

    mutating func sent(_ command: Command) { commands.append(command) }

    /// Whether this is the answer the server owes now.
    mutating func subscribed(_ channel: String) -> Bool {
        guard case .subscribe(let channels) = commands.first, channels[answered] == channel else { return false }
        answered += 1
        if answered == channels.count {
            commands.removeFirst()
            answered = 0
        }
        return true
    }

    /// Whether we are waiting for this channel to be unsubscribed from; if not, the server did it by itself.
    func isUnsubscribing(_ channel: String) -> Bool {
        guard case .unsubscribe(let channels) = commands.first else { return false }
        return channels.contains(channel)
    }

    /// The command a PONG ends; nil if none.
    mutating func pong() -> Command? {
        switch commands.first {
        case .ping, .unsubscribe: commands.removeFirst()
        case nil, .subscribe: nil
        }
    }

    /// The command an error answers; nil if none can.
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
