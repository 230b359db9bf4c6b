// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import StrataModel
import Synchronization

/// Takes the parts of the messages of users who are being erased, some at a time, and tells the participants of each conversation.
///
/// What is left to do is in the database. Every instance works on it, on one user at a time each; when one is killed, another goes on where it was. Apps are
/// served in turn, see ``AppTurns``.
final class Erasures: Service {
    private let database: Database
    private let directory: IdentityDirectory
    private let publisher: Publisher
    private let interval: Duration
    private let logger: Logger
    /// Has an element when there may be something to do.
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let turns = Mutex(AppTurns())
    private let erased = Counter(label: "strata_conversations_erased_messages_total")
    private let failures = Counter(label: "strata_conversations_erasure_failures_total")

    /// Messages in one transaction: a few milliseconds, in which other changes of the conversation wait.
    private static let batch: Int64 = 25
    /// Apps among which one look chooses.
    private static let appBatch: Int64 = 50
    /// Between two transactions at least. A pause is as long as the transaction before it took, so that half of the time is left to others.
    private static let pause = Duration.milliseconds(2)

    /// - Parameter interval: how often it is looked whether there is something to do that another instance left, or that has become due.
    init(database: Database, directory: IdentityDirectory, publisher: Publisher, interval: Duration = .seconds(5), logger: Logger) {
        self.database = database
        self.directory = directory
        self.publisher = publisher
        self.interval = interval
        self.logger = logger
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// There is something to do. Returns at once.
    func wake() { signal.yield() }

    /// Works until the service stops. Failures are logged, and tried again at the next turn.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    while (try? await Task.sleep(for: self.interval * Double.random(in: 0.8...1.2))) != nil { self.wake() }
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
        logger.warning("the erasure of a user could not go on", metadata: ["error.code": "\(Failure(reading: error).code.id)"])
    }

    /// One transaction of the work, for the app whose turn it is. A failure of one app is logged, and holds up no other.
    /// - Returns: false if there is nothing to do now.
    func step(deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await database.runAlone(AppsWithErasures(after: .random(), limit: Self.appBatch), deadline: deadline)
        guard let row = rows.first else { return false }
        var apps = try rows.columns(of: AppsWithErasures.self).apps(in: row)
        // All of an app's users may be with other instances.
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

    /// - Returns: false if there is nothing to do for this app now.
    private func step(for app: AppID, deadline: ContinuousClock.Instant) async throws -> Bool {
        let rows = try await database.runAlone(EraseSome(app: app, limit: Self.batch), deadline: deadline)
        let columns = try rows.columns(of: EraseSome.self)
        guard let header = rows.first, try header[columns.outcome] != "idle" else { return false }
        guard let first = rows.dropFirst().first else { return true }
        let user = UserID(trusted: try first[columns.user])
        // Not as it is remembered: that may be from before.
        let identities = try await directory.full([user], in: app, deadline: deadline).mapValues(\.basic)
        var changes: [Change] = []
        for row in rows.dropFirst() {
            guard let message = try MessageRow(row, by: columns.message) else { continue }
            changes.append(
                Change(
                    appID: app, conversationID: message.conversationID, position: Position(try row[columns.position]),
                    createdAt: StrataModel.Timestamp(try row[columns.createdAt]), actor: user, origin: nil,
                    messageCount: try row[columns.messageCount], numbers: [:],
                    content: .partsChanged(id: message.id, ordinal: message.ordinal, [.allReplaced], message.message(identities)),
                    hiddenFrom: try row[optional: columns.hiddenFrom]?.map { UserID(trusted: $0) } ?? []))
        }
        publisher.publish(changes)
        erased.increment(by: changes.count)
        return true
    }
}
