// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// The tokens that apps' own servers authenticate with. A token is known by its SHA-256; this service never sees the token itself.
///
/// `strata app token` makes and revokes them, in the database. Nothing is remembered here, so a token that was revoked is refused from then on.
struct ServerTokens: Sendable {
    private let database: Database

    init(database: Database) { self.database = database }

    /// The id of the token with this digest, if it is one of this app's.
    /// - Throws: ``StrataModel/Failure`` `invalid_app_id`, `app_suspended`; `authentication_required` for an unknown token; `access_denied` for
    ///   a token of another app.
    func find(_ digest: [UInt8], of app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> UUID {
        let rows = try await database.run(FindServerToken(app: app, digest: digest), deadline: deadline)
        guard let row = rows.first else { throw .invalidApp }
        do {
            let columns = try rows.columns(of: FindServerToken.self)
            if try row[columns.isSuspended] { throw Failure.appSuspended }
            guard let token = try row[optional: columns.token], let isOwn = try row[optional: columns.isOwn] else { throw Failure.unknownServerToken }
            guard isOwn else { throw Failure.accessDenied("This token is for another app.") }
            return token
        } catch {
            throw Failure(reading: error)
        }
    }
}

extension Failure {
    fileprivate static let unknownServerToken = Failure(.authenticationRequired, "The server token is unknown, or has been revoked.")
}
