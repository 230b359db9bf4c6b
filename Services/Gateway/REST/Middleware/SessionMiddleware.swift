// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import RPC
import StrataModel

/// A middleware that authenticates the user by the session token.
struct SessionMiddleware: RESTMiddleware {
    let sessions: SessionDirectory
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        var context = context
        do throws(Failure) {
            context.user = try await sessions.session(of: request, trace: context.trace).key
        } catch {
            throw errors.failed(error, in: context)
        }
        return try await next(request, context)
    }
}

extension SessionDirectory {
    /// Returns the session of a request.
    /// - Throws: `authentication_required` without a nonce, which ``ErrorObjects`` adds.
    func session(of request: Request, trace: TraceID) async throws(Failure) -> Session {
        guard let header = request.headers[.authorization], let token = SessionToken(authorization: header) else {
            throw Failure(.authenticationRequired, "Please sign in.")
        }
        return try await session(for: token, trace: trace)
    }
}
