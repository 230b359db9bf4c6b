// SPDX-License-Identifier: Apache-2.0
import Postgres
import ServiceLifecycle
import Synchronization

/// Knows which history of the database this is (`conversations.check_epoch`), so that publications can say it.
final class EpochWatch: Service {
    static let check = Statement("epoch.check", sql: "SELECT epoch FROM conversations.check_epoch(NULL, NULL)", isIdempotent: true)
    /// How often the database is asked.
    private static let interval = Duration.seconds(2)

    private let database: PostgresPool
    private let state = Mutex("")

    init(database: PostgresPool) { self.database = database }

    /// As it was told last; empty before the first time.
    var known: String { state.withLock { $0 } }

    /// Asks now and then, until the service stops.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                let rows = try? await self.database.query(Self.check, [], deadline: .now + Self.interval)
                if let epoch = try? rows?.first?.get(0, as: String.self) { self.state.withLock { $0 = epoch } }
            } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }
}
