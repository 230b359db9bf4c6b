// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Postgres
public import StrataModel

/// The record of a change that was already carried out under its idempotency key.
public struct IdempotencyRecord: Sendable {
    /// The outcome of the writing function: `ok`, `none`, `created` or `found`.
    public let outcome: String
    /// The change's positions in the logs.
    public let place: LogPosition
    /// The id of the created object. nil if the request contains it.
    public let object: UUID?

    /// Finds the record of an idempotency key: one row, or none.
    public struct Find: PostgresQuery {
        /// The app of the change.
        public let app: AppID
        /// The user who made the change.
        public let user: UserID
        /// The idempotency key.
        public let id: UUID

        /// The statement that calls `conversations.find_mutation`.
        public static let statement = Statement(
            "mutation.find",
            sql: """
                SELECT fingerprint, outcome, position, user_position, object
                FROM conversations.find_mutation($1, $2, $3)
                """,
            isIdempotent: true)

        /// The values of `$1`, `$2` and `$3`.
        public var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .uuid(id)] }

        /// A record.
        public struct Row: Decodable, Sendable {
            let fingerprint: Int64
            let outcome: String
            let position: Int64?
            let userPosition: Int64?
            let object: UUID?
        }

        /// Creates the query for a change of `user`.
        public init(_ idempotencyKey: IdempotencyKey, of user: UserID, in app: AppID) {
            self.app = app
            self.user = user
            id = idempotencyKey.id
        }
    }

    /// Reads the record from the rows of ``Find``.
    /// - Returns: nil if there are no rows.
    /// - Throws: `invalid_header` if the idempotency key was used for another request.
    public init?(_ rows: [Find.Row], of idempotencyKey: IdempotencyKey) throws {
        guard let row = rows.first else { return nil }
        guard UInt64(bitPattern: row.fingerprint) == idempotencyKey.fingerprint else {
            throw Failure(
                .invalidHeader, "The Strata-Mutation header has the id of another request, which was carried out.",
                detail: .header("Strata-Mutation"))
        }
        outcome = row.outcome
        place = LogPosition(
            position: row.position.map { Position($0) }, userPosition: row.userPosition.map { Position($0) })
        object = row.object
    }

    /// The pauses between two lookups of a change that another request is carrying out. They double from the first to
    /// the longest.
    private static let pauses = (first: Duration.milliseconds(20), longest: Duration.milliseconds(500))

    /// The number of lookups before the change is tried again.
    private static let lookupLimit = 4

    /// Carries out a change at most once under its idempotency key.
    ///
    /// - Parameters:
    ///   - idempotencyKey: the idempotency key. nil: none.
    ///   - deadline: the end of waiting for another request that carries out the same change.
    ///   - carryOut: carries out the change. Returns nil if it was carried out before, or if another request is
    ///     carrying it out.
    ///   - find: looks up the record of an earlier change with the same key.
    ///   - answer: builds the answer from the record.
    /// - Throws: the error of `carryOut`, unless the change was carried out before. A repetition may be refused because
    ///   of later changes, and still gets the first answer.
    public static func idempotent<T>(
        _ idempotencyKey: IdempotencyKey?, until deadline: ContinuousClock.Instant, carryOut: () async throws -> T?,
        find: (IdempotencyKey) async throws -> IdempotencyRecord?, answer: (IdempotencyRecord) async throws -> T
    ) async throws -> T {
        var pause = pauses.first
        while true {
            var refusal: (any Error)?
            do {
                if let done = try await carryOut() { return done }
            } catch {
                refusal = error
            }
            if let idempotencyKey, !(refusal is CancellationError), let earlier = try await find(idempotencyKey) {
                return try await answer(earlier)
            }
            if let refusal { throw refusal }
            guard let idempotencyKey, .now + pause < deadline else { throw Failure.unavailable }
            // The other request usually succeeds. Try again only after some lookups, in case it was refused.
            for _ in 0..<lookupLimit where .now + pause < deadline {
                try await Task.sleep(for: pause * Double.random(in: 0.8...1.2))
                if let earlier = try await find(idempotencyKey) { return try await answer(earlier) }
                pause = min(pause * 2, pauses.longest)
            }
        }
    }
}
