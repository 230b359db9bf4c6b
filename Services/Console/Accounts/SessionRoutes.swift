// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import StrataModel

/// Sign-in, sign-out and the audit log.
struct SessionRoutes: ConsoleFeature {
    let accounts: Accounts
    let audit: AuditLog
    /// True if browsers send the session over HTTPS only.
    let isSecure: Bool

    private struct SignIn: Decodable {
        let name: String
        let password: String
    }

    private struct Link: Decodable {
        let token: String
    }

    private struct Answer: Encodable {
        let name: String
        let role: OperatorRole
        let csrf: String

        init(_ session: OperatorSession) { (name, role, csrf) = (session.name, session.role, session.csrf) }
    }

    func add(to routes: ConsoleRoutes) {
        routes.open(.post, "/api/session", use: signIn)
        routes.open(.post, "/api/session/link", use: useLink)
        routes.get("/api/session") { _, context in .json(Answer(context.session)) }
        routes.own(.delete, "/api/session") { _, context in
            try await accounts.end(context.session, from: context.address)
            return Response(
                status: .noContent, headers: [.setCookie: SessionCookie.header(nil, isSecure: isSecure)])
        }
        routes.get("/api/audit", use: listAudit)
    }

    private func signIn(_ request: Request, context: ConsoleContext) async throws -> Response {
        let body = try await request.json(SignIn.self)
        // Other texts are no names and no passwords, and PostgreSQL does not store a NUL.
        let isPlausible = body.name.utf8.count <= 64 && body.password.utf8.count <= 1024 && !body.name.contains("\0")
        return try answer(
            await accounts.signIn(
                name: isPlausible ? body.name : "", password: isPlausible ? body.password : "", from: context.address),
            message: "The name or the password is wrong.")
    }

    /// Uses a link up. The link's address is that of the page, which sends the token here. A preview of the link loads
    /// the page and runs no script, so the link stays usable.
    private func useLink(_ request: Request, context: ConsoleContext) async throws -> Response {
        let link = try await request.json(Link.self)
        return try answer(
            await accounts.signIn(link: link.token, from: context.address),
            message: "This link has been used, or has expired. `strata operator link` makes another one.")
    }

    private func answer(_ outcome: SignInOutcome, message: String) throws -> Response {
        switch outcome {
        case .signedIn(let session, let token):
            return .json(
                Answer(session), headers: [.setCookie: SessionCookie.header(token, isSecure: isSecure)])
        case .refused:
            throw Failure(.authenticationRequired, message)
        case .tooMany(let seconds):
            var refusal = Refusal(
                Failure(.rateLimitExceeded, "There were too many attempts. Please try again in \(seconds) seconds."))
            refusal.headers[.retryAfter] = String(seconds)
            throw refusal
        }
    }

    private func listAudit(_ request: Request, context: OperatorContext) async throws -> Response {
        let limit = try request.number("limit", in: 1...200, default: 50)
        let before = try request.number("after", in: 1...Int.max, default: Int.max)
        return .json(text: ByteBuffer(string: try await audit.page(before: before, limit: limit)))
    }
}
