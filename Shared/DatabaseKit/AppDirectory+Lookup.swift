// SPDX-License-Identifier: Apache-2.0

import Postgres
import StrataModel
import Synchronization

extension AppDirectory {
    /// The time for which a call waits for an app that is being moved.
    private static let patience = Duration.seconds(4)
    /// The interval at which such a call looks for the app.
    private static let pause = Duration.milliseconds(50)

    private enum Found {
        case lives(Int)
        /// The app is being moved, and lives in no database.
        case inTransit
        case unknown
    }

    /// Finds an app, and waits while it is being moved. Concurrent callers share a lookup.
    /// - Returns: nil if no database has the app.
    /// - Throws: ``StrataModel/Failure/unavailable`` also if ``maximumLookups`` are in progress.
    func find(_ app: AppID, isRepeated: Bool = false) async throws(Failure) -> Int? {
        let (index, isShared) = try await lookups.value(for: app) { await self.lookUp(app) }
        if let index { return index }
        // The app may have been created after a shared lookup began.
        return isShared && !isRepeated ? try await find(app, isRepeated: true) : nil
    }

    private func lookUp(_ app: AppID) async -> Result<Int?, Failure> {
        let end = ContinuousClock.now + Self.patience
        do throws(Failure) {
            while true {
                switch try await ask(for: app, deadline: end) {
                case .unknown: return .success(nil)
                case .lives(let index):
                    // The known departures can be older than the answer, and still name the app. If a shared reading
                    // is older, too, the caller looks the app up again.
                    try await readDepartures(of: index)
                    places.withLock { $0.found(app, in: index) }
                    return .success(index)
                case .inTransit:
                    guard .now < end, (try? await Task.sleep(for: Self.pause)) != nil else { throw .unavailable }
                }
            }
        } catch {
            return .failure(error)
        }
    }

    /// Asks all databases for an app.
    /// - Throws: ``StrataModel/Failure/unavailable`` if no answer finds the app and an answer is missing.
    private func ask(for app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> Found {
        let unused = misnamed.withLock { $0 }
        let found = await withTaskGroup(
            of: (index: Int, state: AppPlaces.State?, isMissing: Bool).self, returning: Result<Found, Failure>.self
        ) { group in
            for (index, database) in databases.enumerated() where !unused.contains(index) {
                group.addTask {
                    do {
                        let rows = try await database.apps.query(ReadAppState(app: app), deadline: deadline)
                        return (index, rows.first?.state.map { AppPlaces.State(rawValue: $0) ?? .paused }, false)
                    } catch {
                        return (index, nil, true)
                    }
                }
            }
            var (isInTransit, isMissing) = (false, !unused.isEmpty)
            for await answer in group {
                if answer.state == .here {
                    group.cancelAll()
                    return .success(.lives(answer.index))
                }
                // An app that only `moved` names was deleted after its move.
                isInTransit = isInTransit || answer.state == .paused || answer.state == .arriving
                isMissing = isMissing || answer.isMissing
            }
            if isInTransit { return .success(.inTransit) }
            return isMissing ? .failure(.unavailable) : .success(.unknown)
        }
        return try found.get()
    }
}
