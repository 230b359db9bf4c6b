// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import StrataModel
import Synchronization

/// Erases the messages of users who are being erased, in small batches, and publishes the changes to the participants
/// of each conversation.
///
/// The database stores the progress. Every instance works on one user at a time. If an instance is killed, another one
/// continues. ``AppTurns`` decides which app is next.
final class Erasures: Service {
    private let database: Database
    private let directory: IdentityDirectory
    private let publisher: Publisher
    private let interval: Duration
    private let logger: Logger
    /// A stream with an element when there may be work.
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let turns = Mutex(AppTurns())
    private let erased = Counter(label: "strata_conversations_erased_messages_total")
    private let failures = Counter(label: "strata_conversations_erasure_failures_total")

    /// The maximum number of messages in one transaction. It takes a few milliseconds, in which other changes of the
    /// conversation wait.
    private static let batch: Int64 = 25
    /// The maximum number of apps in one search.
    private static let appBatch: Int64 = 50
    /// The minimum pause between two transactions. A pause is as long as the preceding transaction, so that half of the
    /// time is left to other work.
    private static let pause = Duration.milliseconds(2)

    /// - Parameter interval: the interval between searches for work that another instance left, or that has become due.
    init(
        database: Database, directory: IdentityDirectory, publisher: Publisher, interval: Duration = .seconds(5),
        logger: Logger
    ) {
        self.database = database
        self.directory = directory
        self.publisher = publisher
        self.interval = interval
        self.logger = logger
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Signals that there is work. Returns immediately.
    func wake() { signal.yield() }

    /// Works until the service stops. It logs a failure and retries in the next turn.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    while (try? await Task.sleep(for: self.interval * Double.random(in: 0.8...1.2))) != nil {
                        self.wake()
                    }
                }
                for await _ in self.signals where !Task.isCancelled { await self.turn() }
                group.cancelAll()
            }
        }
    }

    private func turn() async {
        do {
            while true {
                let start = ContinuousClock.now
                guard try await step(deadline: start + .seconds(30)) else { return }
                guard (try? await Task.sleep(for: max(Self.pause, ContinuousClock.now - start))) != nil else { return }
            }
        } catch {
            report(error)
        }
    }

    private func report(_ error: any Error) {
        failures.increment()
        logger.warning(
            "user erasure failed", metadata: ["error.code": "\(Failure(reading: error).code.id)"])
    }

    /// Runs one transaction for the app whose turn it is. A failure of one app is logged and does not stop other apps.
    /// - Returns: false if there is no work at the moment.
    func step(deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await database.runExclusive(
            AppsWithErasures(after: .random(), limit: Self.appBatch), deadline: deadline)
        guard let row = rows.first else { return false }
        var apps = Set(row.apps)
        // An app may have no work for this instance, if other instances work on all of its users.
        while let app = turns.withLock({ $0.next(among: apps) }) {
            let start = ContinuousClock.now
            defer { turns.withLock { $0.charge(ContinuousClock.now - start, to: app) } }
            do {
                if try await step(for: app, deadline: deadline) { return true }
            } catch {
                report(error)
            }
            apps.remove(app)
        }
        return false
    }

    /// Runs one transaction for this app.
    /// - Returns: false if the app has no work at the moment.
    private func step(for app: AppID, deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await database.runExclusive(EraseSome(app: app, limit: Self.batch), deadline: deadline)
        guard let header = rows.first, header.outcome != "idle" else { return false }
        let erased = rows.compactMap(\.change)
        guard let user = erased.first?.userID else { return true }
        // Read the identity from the database, because a cached one may be older than the erasure.
        let identities = try await directory.full([user], in: app, deadline: deadline).mapValues(\.basic)
        let changes = erased.compactMap { change -> Change? in
            guard let message = change.message else { return nil }
            return Change(
                appID: app, conversationID: message.conversationID, position: change.place.position,
                createdAt: change.place.createdAt, actor: user, origin: nil, messageCount: change.messageCount,
                counts: [:],
                content: .partsChanged(
                    id: message.content.id, ordinal: message.content.ordinal, [.allReplaced],
                    message.message(identities)),
                hiddenFrom: change.hiddenFrom ?? [])
        }
        publisher.publish(changes)
        self.erased.increment(by: changes.count)
        return true
    }
}
