// SPDX-License-Identifier: Apache-2.0
import Contracts
import Logging
import NIOCore
import Redis
import ServiceLifecycle
import StrataModel
import Synchronization

/// A publication on the channel of a conversation, or the knowledge that some may be missing.
enum LiveEvent: Sendable {
    case change(Change)
    case typing(TypingSignal)
    case lost
}

/// The conversations that operators watch. Each is one subscription at Redis, whatever the number of its watchers.
final class LiveChannels: RedisSubscriberDelegate {
    typealias Watcher = @Sendable (LiveEvent) -> Void

    private struct State {
        var subscriber: RedisSubscriber?
        var watchers: [String: [UInt64: Watcher]] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Creates the channels, and the subscriber to run.
    static func make(
        _ configuration: RedisConfiguration, group: any EventLoopGroup, logger: Logger
    ) -> (channels: LiveChannels, subscriber: RedisSubscriber) {
        let channels = LiveChannels()
        let subscriber = RedisSubscriber(
            configuration: configuration, eventLoopGroup: group, delegate: channels, logger: logger)
        channels.state.withLock { $0.subscriber = subscriber }
        return (channels, subscriber)
    }

    /// Passes the publications of a conversation on to `watcher` until this task is cancelled.
    /// - Parameter started: called when no further publication can be missed.
    func watch(
        _ conversation: ConversationID, watcher: @escaping Watcher, started: @Sendable () -> Void
    ) async {
        let channel = Channels.conversation(conversation)
        let (id, subscriber) = add(watcher, to: channel)
        defer { remove(id, from: channel) }
        while !Task.isCancelled {
            do {
                try await subscriber?.confirmation(of: [channel], deadline: .now + .seconds(60))
                started()
                break
            } catch {
                // Redis is away. The subscriber goes on trying.
                if error.code == .closed { return }
            }
        }
        while (try? await Task.sleep(for: .seconds(3600))) != nil {}
    }

    // The subscriptions are changed under the lock, so that they are those of the watchers.

    private func add(_ watcher: @escaping Watcher, to channel: String) -> (UInt64, RedisSubscriber?) {
        state.withLock { state in
            state.lastID += 1
            if state.watchers[channel] == nil { state.subscriber?.subscribe([channel]) }
            state.watchers[channel, default: [:]][state.lastID] = watcher
            return (state.lastID, state.subscriber)
        }
    }

    private func remove(_ id: UInt64, from channel: String) {
        state.withLock { state in
            state.watchers[channel]?[id] = nil
            guard state.watchers[channel]?.isEmpty == true else { return }
            state.watchers[channel] = nil
            state.subscriber?.unsubscribe([channel])
        }
    }

    private func tell(_ event: LiveEvent, on channel: String? = nil) {
        let watchers = state.withLock { state in
            guard let channel else { return state.watchers.values.flatMap(\.values) }
            return Array((state.watchers[channel] ?? [:]).values)
        }
        for watcher in watchers { watcher(event) }
    }

    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer) {
        let channel = String(buffer: channel)
        switch try? ConversationPublication(decoding: message) {
        case .change(let change): tell(.change(change), on: channel)
        case .typing(let signal, _): tell(.typing(signal), on: channel)
        // A publication of a later version. The page reads what it was about.
        case nil: tell(.lost, on: channel)
        }
    }

    func subscriber(didConfirm channel: String) {}

    func subscriberDidLoseConnection() {}

    /// Publications between the loss and now are missing.
    func subscriberDidRecover() { tell(.lost) }
}
