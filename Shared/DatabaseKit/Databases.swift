// SPDX-License-Identifier: Apache-2.0

public import Postgres
public import StrataModel

/// The parts of a service for each of its databases, such as pools or handlers, chosen by the app.
public struct Databases<Part: Sendable>: Sendable {
    /// The part of one database.
    public struct Member: Sendable {
        /// The name of the database.
        public let name: DatabaseName
        /// The part.
        public let part: Part
    }

    /// The parts in the order of the setting; not empty.
    public let all: [Member]
    /// The directory, in the same order; nil: there is one database.
    public let directory: AppDirectory?

    /// - Parameters:
    ///   - parts: the parts in the order of the setting; not empty.
    ///   - directory: the directory, in the same order; nil: there is one database.
    public init(_ parts: [(name: DatabaseName, part: Part)], directory: AppDirectory?) {
        all = parts.map { Member(name: $0.name, part: $0.part) }
        self.directory = directory
    }

    /// Returns the index of the database in which an app lives; nil: the app is unknown.
    /// - Throws: the errors of ``AppDirectory/index(of:deadline:)``.
    public func index(of app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> Int? {
        guard let directory else { return 0 }
        return try await directory.index(of: app, deadline: deadline)
    }

    /// Returns the index of the database in which an app lives, if it is known without asking a database.
    public func knownIndex(of app: AppID) -> Int? {
        guard let directory else { return 0 }
        return directory.knownIndex(of: app)
    }

    /// Returns the part of the database in which an app lives, and that of the first database for an unknown app, whose
    /// handlers refuse it.
    public func member(of app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> Member {
        all[try await index(of: app, deadline: deadline) ?? 0]
    }

    /// Returns the part of the database with this name. The empty name is the first database's.
    /// - Throws: `invalid_property` for an unknown name.
    public func member(named name: String) throws(Failure) -> Member {
        if name.isEmpty { return all[0] }
        guard let member = all.first(where: { $0.name.description == name }) else {
            throw .invalid("database", reason: "is not the name of a database")
        }
        return member
    }

    /// Runs `body` for every database at once, and returns the first success.
    /// - Parameter absence: the code of the failure of a database that does not have the object.
    /// - Throws: another failure, if there is one: a database that did not answer may have the object. Otherwise the
    ///   failure with the code `absence`.
    public func find<Answer: Sendable>(
        unless absence: Failure.Code, _ body: @escaping @Sendable (Member) async throws(Failure) -> Answer
    ) async throws(Failure) -> Answer {
        let outcome = await withTaskGroup(
            of: Result<Answer, Failure>.self, returning: Result<Answer, Failure>.self
        ) { group in
            for member in all {
                group.addTask {
                    do throws(Failure) {
                        return .success(try await body(member))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            var failure: Failure?
            for await outcome in group {
                switch outcome {
                case .success:
                    group.cancelAll()
                    return outcome
                case .failure(let error):
                    if failure == nil || failure?.code == absence { failure = error }
                }
            }
            return .failure(failure ?? .unavailable)
        }
        return try outcome.get()
    }

    /// Checks for a readiness probe that a database answers. While others are away, only their apps are not served.
    /// - Throws: ``StrataModel/Failure/unavailable`` if none answers in time.
    public func check(
        within limit: Duration, _ pool: @escaping @Sendable (Part) -> PostgresPool
    ) async throws {
        try await find(unless: .serviceUnavailable) { member throws(Failure) in
            guard await pool(member.part).isReachable(deadline: .now + limit) else { throw .unavailable }
        }
    }
}
