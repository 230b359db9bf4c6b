// SPDX-License-Identifier: Apache-2.0
import Contracts
import Logging
import Metrics
import NIOCore
import Redis
import StrataModel

/// Tells the gateways what was committed. A publication is only a hint: gateways find a lost one again by its position (docs/architecture.md §3.3).
/// So publishing never waits, and never fails the write it belongs to.
///
/// What one task publishes leaves in the order in which it was published, and the changes of one call in the order of their positions. Two writes of
/// one conversation that commit together are announced by two tasks, in either order; gateways put them back in order.
struct Publisher: Sendable {
    private let send: @Sendable (_ channel: String, _ payload: ByteBuffer) -> Void
    /// Of the database, as far as this process knows it: gateways hand on nothing of another history than the one they follow.
    private let epoch: @Sendable () -> String
    private let logger: Logger
    private let published = Counter(label: "strata_conversations_published_total")
    private let unpublishable = Counter(label: "strata_conversations_unpublishable_total")

    /// Publishes over Redis. While Redis is away, publications are dropped.
    init(redis: RedisClient, epoch: @escaping @Sendable () -> String, logger: Logger) {
        self.init(epoch: epoch, logger: logger) { channel, payload in redis.publishWithoutWaiting(payload, to: channel) }
    }

    /// Publishes by `send`, which must not block.
    init(
        epoch: @escaping @Sendable () -> String = { "" }, logger: Logger,
        send: @escaping @Sendable (_ channel: String, _ payload: ByteBuffer) -> Void
    ) {
        self.epoch = epoch
        self.logger = logger
        self.send = send
    }

    /// Announces committed changes, each on its conversation's channel.
    func publish(_ changes: [Change]) {
        for change in changes.count > 1 ? changes.sorted(by: { $0.position < $1.position }) : changes {
            publish(on: Channels.conversation(change.conversationID)) { try ConversationPublication.change(change).encoded(epoch: epoch()) }
        }
    }

    /// Announces notices, each on its user's channel.
    func notify(_ notices: [UserNotice]) {
        for notice in notices {
            publish(on: Channels.user(app: notice.appID, user: notice.user)) { try notice.encoded(epoch: epoch()) }
        }
    }

    /// Announces what a typist does, whom no presence service knows of.
    /// - Parameter goodFor: if nothing more is heard of them for so long, they have finished.
    func announce(_ action: TypingAction, by user: UserID, in conversation: ConversationID, goodFor: Duration?) {
        let signal = TypingSignal(conversationID: conversation, user: user, action: action)
        publish(on: Channels.conversation(conversation)) { try ConversationPublication.typing(signal, goodFor: goodFor).encoded(epoch: epoch()) }
    }

    private func publish(on channel: @autoclosure () -> String, _ encoded: () throws -> ByteBuffer) {
        do {
            send(channel(), try encoded())
            published.increment()
        } catch {
            // Cannot be caused by a client: our own values always encode.
            unpublishable.increment()
            logger.error("a publication could not be encoded", metadata: ["error.type": "\(type(of: error))"])
        }
    }
}
