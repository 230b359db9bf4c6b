// SPDX-License-Identifier: Apache-2.0
import Contracts
import Logging
import Metrics
import NIOCore
import Redis
import StrataModel

/// Publishes committed changes to the gateways. A publication is only a hint: gateways detect a lost one by its
/// position (docs/architecture.md §3.3). So publishing never waits, and never fails the write.
///
/// Publications of one task are sent in the order of the calls, and the changes of one call in the order of their
/// positions. If two writes in one conversation commit together, two tasks publish them in either order; gateways
/// restore the order of positions.
struct Publisher: Sendable {
    private let send: @Sendable (_ channel: String, _ payload: ByteBuffer) -> Void
    /// The database's epoch, as cached by this process. Gateways ignore publications of another epoch than theirs.
    private let epoch: @Sendable () -> String
    private let logger: Logger
    private let published = Counter(label: "strata_conversations_published_total")
    private let unpublishable = Counter(label: "strata_conversations_unpublishable_total")

    /// Creates a publisher that uses Redis. Publications are dropped while Redis is unavailable.
    init(redis: RedisClient, epoch: @escaping @Sendable () -> String, logger: Logger) {
        self.init(epoch: epoch, logger: logger) { channel, payload in redis.publishWithoutWaiting(payload, to: channel)
        }
    }

    /// Creates a publisher that calls `send`, which must not block.
    init(
        epoch: @escaping @Sendable () -> String = { "" }, logger: Logger,
        send: @escaping @Sendable (_ channel: String, _ payload: ByteBuffer) -> Void
    ) {
        self.epoch = epoch
        self.logger = logger
        self.send = send
    }

    /// Publishes committed changes, each on its conversation's channel.
    func publish(_ changes: [Change]) {
        for change in changes.count > 1 ? changes.sorted(by: { $0.position < $1.position }) : changes {
            publish(on: Channels.conversation(change.conversationID)) {
                try ConversationPublication.change(change).encoded(epoch: epoch())
            }
        }
    }

    /// Publishes notices, each on its user's channel.
    func notify(_ notices: [UserNotice]) {
        for notice in notices {
            publish(on: Channels.user(app: notice.appID, user: notice.user)) { try notice.encoded(epoch: epoch()) }
        }
    }

    /// Publishes a typing action of a user who types through no presence service.
    /// - Parameter goodFor: the lifetime of the signal. If it is not renewed, the user has finished.
    func announce(_ action: TypingAction, by user: UserID, in conversation: ConversationID, goodFor: Duration?) {
        let signal = TypingSignal(conversationID: conversation, user: user, action: action)
        publish(on: Channels.conversation(conversation)) {
            try ConversationPublication.typing(signal, goodFor: goodFor).encoded(epoch: epoch())
        }
    }

    private func publish(on channel: @autoclosure () -> String, _ encoded: () throws -> ByteBuffer) {
        do {
            send(channel(), try encoded())
            published.increment()
        } catch {
            // A client cannot cause this error, because the service's own values always encode.
            unpublishable.increment()
            logger.error("publication cannot be encoded", metadata: ["error.type": "\(type(of: error))"])
        }
    }
}
