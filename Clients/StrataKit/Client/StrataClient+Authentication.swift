// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

extension StrataClient {
    /// The signed-in user; nil if no user is signed in. A user whose session was challenged still counts as signed in.
    public var authenticatedUser: Identity? {
        get async {
            guard let engine else { return nil }
            return (try? await engine.read { try $0.identity(engine.me) }) ?? Identity(userID: engine.me)
        }
    }

    /// Requests a nonce from the server. The app's own backend puts the nonce into an identity token.
    /// - Throws: ``StrataError/Code/networkRequestFailed``.
    public func requestAuthenticationNonce() async throws -> String {
        do { return try await server.nonce() } catch { throw StrataError.network("\(error)", underlying: error) }
    }

    /// Signs a user in.
    ///
    /// The user joins the current session. If there is none, the user's own session becomes the current one; a user
    /// without a session gets a new one.
    ///
    /// If the user is already signed in, the call renews the session, and the client reconnects if it was connected. If
    /// several calls overlap, the last one wins and the others throw `CancellationError`.
    /// - Returns: the user's identity.
    /// - Throws:
    ///   - ``StrataError/Code/invalidToken``
    ///   - ``StrataError/Code/alreadyAuthenticated`` if another user is signed in to the current session
    ///   - ``StrataError/Code/duplicateSession`` if the user has a session that is not the current one
    ///   - ``StrataError/Code/networkRequestFailed``
    ///   - ``StrataError/Code/devicePersistenceFailure``
    ///   - `CancellationError` if a later call, a sign-out or a switch of sessions superseded this call
    @discardableResult
    public func authenticate(identityToken: String) async throws -> Identity {
        attempt += 1
        let mine = attempt
        let answer = try await signIn(identityToken)
        guard let token = answer["session_token"].string, let identity = WireObjects.identity(answer["identity"]) else {
            throw StrataError(
                .synchronizationFailure, "The server's answer to the sign-in has no session or no identity.")
        }
        do {
            guard mine == attempt else { throw CancellationError() }
            try await enter(identity, token: token)
        } catch {
            // End the session that the server created for this call, because nothing refers to it.
            await signOut(token)
            throw error
        }
        return StoreReader.identity(identity)
    }

    /// Saves the signed-in session and starts its engine.
    private func enter(_ identity: IdentityRecord, token: String) async throws {
        try checkOpen()
        let session = try sessionFile.signedIn(identity.userID, token: token)
        let old = sessionFile.session(session.identifier)?.token
        let engine = try self.engine ?? streams.makeEngine(of: session)
        try persisting { try sessionFile.saveSession(session, isCurrent: true) }
        let isRenewal = self.engine != nil
        self.engine = engine
        if isRenewal { await engine?.resume(token: token) }
        // If this write fails, the next synchronization delivers the identity.
        _ = try? await engine?.change { try $0.storeFullIdentity(identity, isFollowed: true) }
        streams.events.send(.authenticated(identity.userID))
        startEngine()
        if let old { await signOut(old) }
    }

    /// Ends a session on the server. Errors are ignored, and the call gives up after 2 s.
    private func signOut(_ token: String) async {
        _ = try? await server.signOut(token: token, deadline: .now + .seconds(2))
    }

    private func signIn(_ identityToken: String) async throws -> JSONValue {
        let body: JSONValue = ["app_id": .string(appID.layerID), "identity_token": .string(identityToken)]
        let answer: RESTResponse
        do {
            answer = try await server.call("POST", "/sessions", body: body)
        } catch let error as ProtocolClientError {
            throw StrataError.network(error.description, underlying: error)
        }
        guard !answer.isSuccess else { return answer.json }
        let words = answer.json["message"].string ?? "The server answered \(answer.status)."
        switch answer.errorID {
        case "invalid_app_id": throw StrataError(.invalidAppID, words)
        case "user_suspended", "app_suspended": throw StrataError(.notAuthenticated, words)
        default:
            throw StrataError(
                answer.status >= 500 || answer.status == 429 ? .networkRequestFailed : .invalidToken, words)
        }
    }

    /// Signs the user out. The current session ends, its data are removed from this device, and unsent changes are
    /// lost.
    ///
    /// Pending calls that wait for objects or content of the session throw. The call also works without a connection;
    /// it informs the server if it can be reached. It does nothing if no user is signed in.
    /// - Throws: ``StrataError/Code/devicePersistenceFailure``.
    public func deauthenticate() async throws {
        attempt += 1
        guard !isClosed, let session = sessionFile.current, session.userID != nil else { return }
        try await endSession(session)
    }

    /// Removes a session and all its data. If the process ends midway, the next client of the app completes the
    /// removal.
    func endSession(_ session: SessionFile.Stored) async throws {
        let isCurrent = sessionFile.current?.identifier == session.identifier
        try persisting { try sessionFile.removeSession(session.identifier) }
        if isCurrent { await stopEngine(releaseEngine()) }
        // After `close()`, another client may own the folder. That client then removes the data.
        let removal = Result { if !isClosed { try persisting { try sessionFile.removeData(of: session.store) } } }
        if let token = session.token { await signOut(token) }
        if isCurrent, let user = session.userID { streams.events.send(.deauthenticated(user)) }
        try removal.get()
    }

    func challenged(_ user: UserID, token: String, need: SignInNeed) async {
        guard engine?.me == user else { return }
        try? sessionFile.challenge(user, token: token)
        guard case .challenge(var nonce) = need else { return }
        if nonce == nil { nonce = try? await server.nonce() }
        if let nonce { streams.challenges.send(nonce) }
    }

    func persisting<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as StrataError {
            throw error
        } catch {
            throw StrataError(.devicePersistenceFailure, "\(error)", underlying: [error])
        }
    }

    /// Throws if the client is closed. A closed client must not touch sessions and stores, because another client may
    /// use them.
    func checkOpen() throws { if isClosed { throw StrataError(.notAuthenticated, "The client was closed.") } }

    /// Returns the engine of the signed-in user.
    /// - Throws: ``StrataError/Code/notAuthenticated``.
    func signedIn() throws -> SyncEngine {
        guard let engine else { throw StrataError(.notAuthenticated, "No user is signed in.") }
        return engine
    }
}
