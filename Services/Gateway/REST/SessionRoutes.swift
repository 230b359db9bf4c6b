// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import Model
import ServiceKit
import Wire

/// Signing in and out (spec 3.3 to 3.6).
extension RESTRouter {
    func registerSessions(on router: RESTRoutes) {
        on(router, .post, "/nonces", .versioned) { _, _ throws(Failure) in
            .json(.created) { writer in
                writer.beginObject()
                writer.key("nonce")
                writer.string(Nonce.issue(with: nonceKey).text)
                writer.endObject()
            }
        }
        on(router, .post, "/sessions", .versioned) { request, context throws(Failure) in
            let body = try SessionBody(try await json(request))
            let token = try await services.signIn(app: body.appID, identityToken: body.identityToken, trace: context.trace)
            return .json(.created, headers: [.link: services.renderer.linkHeader]) { writer in
                writer.beginObject()
                writer.key("session_token")
                writer.string(token)
                writer.endObject()
            }
        }
        on(router, .delete, "/sessions/:token", .versioned) { request, context throws(Failure) in
            try await endSession(request, context)
        }
    }

    /// Idempotent: a session that does not exist has ended. Nobody can end a session with another session's header.
    private func endSession(_ request: Request, _ context: RESTContext) async throws(Failure) -> RESTAnswer {
        guard let token = context.parameters.get("token").flatMap({ SessionToken($0.removingPercentEncoding ?? $0) }) else {
            return .noContent
        }
        if let header = request.headers[.authorization] {
            guard SessionToken(authorization: header)?.text == token.text else {
                throw .accessDenied("The Authorization header names another session.")
            }
        }
        let digest = token.digest
        try await services.endSession(tokenDigest: digest, trace: context.trace)
        services.sessions.forget(tokenDigest: digest)
        return .noContent
    }
}
