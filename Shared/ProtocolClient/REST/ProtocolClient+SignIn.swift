// SPDX-License-Identifier: Apache-2.0

extension ProtocolClient {
    /// Requests a new nonce.
    /// - Throws: ``ProtocolClientError/Code/refused`` if the response contains none.
    public func nonce(deadline: ContinuousClock.Instant? = nil) async throws -> String {
        let answer = try await call("POST", "/nonces", deadline: deadline)
        guard answer.isSuccess, let nonce = answer.json["nonce"].string else {
            throw ProtocolClientError(.refused, "no nonce", answer: answer)
        }
        return nonce
    }

    /// Exchanges an identity token for a session.
    /// - Returns: the session token.
    /// - Throws: ``ProtocolClientError/Code/refused`` if the response contains none.
    public func signIn(
        appID: String, identityToken: String, deadline: ContinuousClock.Instant? = nil
    ) async throws -> String {
        let body: JSONValue = ["app_id": .string(appID), "identity_token": .string(identityToken)]
        let answer = try await call("POST", "/sessions", body: body, deadline: deadline)
        guard answer.isSuccess, let token = answer.json["session_token"].string else {
            throw ProtocolClientError(.refused, "no session", answer: answer)
        }
        return token
    }

    /// Ends a session. Its token is in the path, as stock clients send it.
    public func signOut(token: String, deadline: ContinuousClock.Instant? = nil) async throws -> RESTResponse {
        try await call("DELETE", "/sessions/\(token)", token: token, deadline: deadline)
    }
}
