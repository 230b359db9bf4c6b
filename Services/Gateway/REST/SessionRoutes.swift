// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import ServiceKit
import StrataModel
import StrataWire

/// Routes for signing in and out (docs/conformance.md §3.3, §3.4, §3.5, §3.6).
struct SessionRoutes: RESTFeature {
    let services: GatewayServices
    let nonceKey: Nonce.Key

    func add(to routes: RESTRoutes) {
        routes.versioned("/nonces").on(.post, use: issueNonce)
        let sessions = routes.versioned("/sessions")
        sessions.on(.post, use: signIn)
        sessions.on(.delete, ":token", use: end)
    }

    private func issueNonce(_ context: RESTContext) async throws(Failure) -> RESTAnswer {
        .json(.created) { writer in
            writer.beginObject()
            writer.key("nonce")
            writer.string(Nonce.issue(with: nonceKey).text)
            writer.endObject()
        }
    }

    private func signIn(_ body: SessionBody, in context: RESTContext) async throws(Failure) -> RESTAnswer {
        let (token, identity) = try await services.signIn(
            app: body.appID, identityToken: body.identityToken, trace: context.trace)
        return .json(.created, headers: [.link: services.renderer.linkHeader]) { writer in
            writer.beginObject()
            writer.key("session_token")
            writer.string(token)
            if let identity {
                writer.key("identity")
                services.renderer.writeIdentity(identity, into: &writer)
            }
            writer.endObject()
        }
    }

    /// Ends a session. Idempotent: an unknown session counts as ended.
    private func end(_ asked: EndRequest, in context: RESTContext) async throws(Failure) -> RESTAnswer {
        guard let token = asked.token else { return .noContent }
        try await services.endSession(of: token, trace: context.trace)
        services.sessions.forget(tokenDigest: token.digest)
        return .noContent
    }
}

private struct EndRequest: RESTRequest {
    /// Nil if the path cannot name a session.
    let token: SessionToken?

    /// - Throws: `access_denied` if the header names another session, which cannot end this one.
    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        guard let token = context.parameters.get("token").flatMap({ SessionToken($0.removingPercentEncoding ?? $0) })
        else {
            self.token = nil
            return
        }
        if let header = request.headers[.authorization], SessionToken(authorization: header)?.text != token.text {
            throw .accessDenied("The Authorization header names another session.")
        }
        self.token = token
    }
}

/// Routes for push tokens (docs/conformance.md §3.7), and the list of channels, which is always empty
/// (docs/conformance.md §11).
struct DeviceRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let tokens = routes.signedIn("/push_tokens")
        tokens.on(.post, use: setToken)
        tokens.on(.delete, ":device", use: deleteToken)
        routes.signedIn("/channels").on(.get) { _ throws(Failure) in .list([Int](), total: 0) { $1.int($0) } }
    }

    private func setToken(_ body: PushTokenBody, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        try await services.setPushToken(body, for: context.call)
        return RESTAnswer(status: .accepted)
    }

    private func deleteToken(_ context: SignedInContext) async throws(Failure) -> RESTAnswer {
        // Unknown and impossible devices are treated as deleted.
        if let device = context.parameters.get("device").map({ $0.removingPercentEncoding ?? $0 }),
            !device.utf8.contains(0)
        {
            try await services.deletePushToken(device: device, for: context.call)
        }
        return RESTAnswer(status: .accepted)
    }
}
