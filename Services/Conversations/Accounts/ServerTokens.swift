// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// The tokens by which apps' own servers authenticate. A token is identified by its SHA-256; this service never
/// receives the token itself.
///
/// `strata app token` creates and revokes tokens in the database. They are not cached here, so a revoked token is
/// refused immediately.
struct ServerTokens: Sendable {
    private let database: Database

    init(database: Database) { self.database = database }

    /// Returns the id of the app's token with this digest.
    /// - Throws: ``StrataModel/Failure`` `invalid_app_id`, `app_suspended`; `authentication_required` for an unknown
    ///   token; `access_denied` for a token of another app.
    func find(_ digest: [UInt8], of app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> UUID {
        let rows = try await database.run(FindServerToken(app: app, digest: digest), deadline: deadline)
        guard let row = rows.first else { throw .invalidApp }
        if row.suspended { throw .appSuspended }
        guard let token = row.tokenID, let isOwn = row.isOwn else { throw .unknownServerToken }
        guard isOwn else { throw .accessDenied("This token is for another app.") }
        return token
    }
}

extension Failure {
    fileprivate static let unknownServerToken = Failure(
        .authenticationRequired, "The server token is unknown, or has been revoked.")
}
