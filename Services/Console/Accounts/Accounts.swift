// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import NIOPosix
import Postgres
import ServiceLifecycle
import StrataModel

/// A session that is about to begin.
struct NewSession: Sendable {
    let token = SecretToken.make()
    let csrf = SecretToken.make()
    /// The address of the browser.
    let address: String

    /// The SHA-256 of the token.
    var digest: [UInt8] { SecretToken.digest(of: token) }
}

/// The outcome of a sign-in.
enum SignInOutcome: Sendable {
    case signedIn(OperatorSession, token: String)
    case refused
    /// Too many attempts; the time to wait, in seconds.
    case tooMany(retryAfter: Int64)
}

/// The operators, their sessions and their sign-ins.
struct Accounts: Sendable {
    let pool: PostgresPool
    private let passwords = PasswordThreads()
    private let signIns = ["ok", "refused", "too_many"]
        .reduce(into: [:]) { $0[$1] = Counter(label: "strata_console_sign_ins_total", dimensions: [("outcome", $1)]) }

    init(pool: PostgresPool) { self.pool = pool }

    /// The service that ends the threads.
    var service: any Service { passwords }

    /// Signs an operator in by name and password. An unknown name takes as long as a wrong password.
    func signIn(name: String, password: String, from address: String) async throws -> SignInOutcome {
        let begun = try await one(BeginSignIn(name: name, address: address))
        guard begun.outcome == "ok" else {
            count("too_many")
            return .tooMany(retryAfter: max(1, begun.retryAfter ?? 1))
        }
        let known = begun.passwordHash.flatMap { PasswordHash($0) }
        let matches = try await passwords.run { (known ?? PasswordHash.placeholder).matches(password) }
        let session = NewSession(address: address)
        if matches, let known,
            let role = try await one(EndSignIn(name: name, passwordHash: known.text, session: session)).role,
            let role = OperatorRole(rawValue: role)
        {
            return signedIn(name, role, session)
        }
        _ = try await one(RefuseSignIn(name: name, address: address))
        count("refused")
        return .refused
    }

    /// Signs an operator in by a link, which works once. An unknown, used or expired link is refused.
    func signIn(link: String, from address: String) async throws -> SignInOutcome {
        let session = NewSession(address: address)
        let row = try await one(UseLink(link: SecretToken.digest(of: link), session: session))
        guard let name = row.name, let role = row.role.flatMap({ OperatorRole(rawValue: $0) }) else {
            count("refused")
            return .refused
        }
        return signedIn(name, role, session)
    }

    private func signedIn(_ name: String, _ role: OperatorRole, _ session: NewSession) -> SignInOutcome {
        count("ok")
        return .signedIn(
            OperatorSession(name: name, role: role, csrf: session.csrf, digest: session.digest), token: session.token)
    }

    /// Returns the session with this digest; nil if it has ended.
    /// - Parameter isUsed: false if the call is not to prolong the session.
    func session(with digest: [UInt8], isUsed: Bool = true) async throws -> OperatorSession? {
        guard let row = try await rows(UseSession(session: digest, isUsed: isUsed)).first,
            let role = OperatorRole(rawValue: row.role)
        else { return nil }
        return OperatorSession(name: row.name, role: role, csrf: row.csrf, digest: digest)
    }

    func end(_ session: OperatorSession, from address: String) async throws {
        _ = try await rows(EndSession(session: session.digest, address: address))
    }

    private func count(_ outcome: String) { signIns[outcome]?.increment() }

    private func one<Query: PostgresQuery>(_ query: Query) async throws -> Query.Row {
        guard let row = try await rows(query).first else { throw Failure.unexpected }
        return row
    }

    private func rows<Query: PostgresQuery>(_ query: Query) async throws -> [Query.Row] {
        do {
            return try await pool.query(query, deadline: .now + .seconds(5))
        } catch {
            throw error.refusal
        }
    }
}

/// Two threads that hash passwords. A hash takes 0.1 s and 32 MB, so at most two are computed at the same time.
private struct PasswordThreads: Service {
    private let threads = NIOThreadPool(numberOfThreads: 2)

    init() { threads.start() }

    func run(_ work: @escaping @Sendable () -> Bool) async throws -> Bool { try await threads.runIfActive(work) }

    func run() async throws {
        try? await gracefulShutdown()
        try await threads.shutdownGracefully()
    }
}

/// A service that deletes what has ended, every five minutes.
struct AccountSweeper: Service {
    let pool: PostgresPool
    let logger: Logger
    private static let batch: Int64 = 1000

    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                do throws(PostgresError) {
                    while try await pool.query(SweepAccounts(limit: Self.batch), deadline: .now + .seconds(30))
                        .first?
                        .count ?? 0 >= Self.batch
                    {}
                } catch {
                    logger.warning("accounts cannot be swept", metadata: ["error.code": "\(error.code)"])
                }
            } while (try? await Task.sleep(for: .seconds(300) * Double.random(in: 0.8...1.2))) != nil
        }
    }
}
