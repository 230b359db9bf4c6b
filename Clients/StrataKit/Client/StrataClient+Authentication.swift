// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

extension StrataClient {
    /// The signed-in user; nil if there is none. A user who must sign in again is still the signed-in user.
    public var authenticatedUser: Identity? {
        get async {
            guard let engine else { return nil }
            return (try? await engine.read { try $0.identity(engine.me) }) ?? Identity(userID: engine.me)
        }
    }

    /// Requests a nonce from the server. The app's own backend puts it into an identity token.
    /// - Throws: ``StrataError/Code/networkRequestFailed``.
    public func requestAuthenticationNonce() async throws -> String {
        do { return try await server.nonce() } catch { throw StrataError.network("\(error)", underlying: error) }
    }

    /// Signs a user in, in the current session. If there is none, the user's own session becomes the current one, and if they have none, a new one.
    ///
    /// While a user is signed in, a token for the same user renews the session: a connection that was made before is made again. Of several calls at once the
    /// last one counts, and the others are cancelled.
    /// - Returns: the user's identity.
    /// - Throws: ``StrataError/Code/invalidToken``, ``StrataError/Code/alreadyAuthenticated`` if the current session is another user's,
    ///   ``StrataError/Code/duplicateSession`` if the user has another session than the current one, ``StrataError/Code/networkRequestFailed``,
    ///   ``StrataError/Code/devicePersistenceFailure``, `CancellationError` if a later call, signing out or another session has taken its place.
    @discardableResult
    public func authenticate(identityToken: String) async throws -> Identity {
        attempt += 1
        let mine = attempt
        let answer = try await signIn(identityToken)
        guard let token = answer["session_token"].string, let identity = WireObjects.identity(answer["identity"]) else {
            throw StrataError(.synchronizationFailure, "The server's answer to the sign-in has no session or no identity.")
        }
        do {
            guard mine == attempt else { throw CancellationError() }
            try await enter(identity, token: token)
        } catch {
            // The session that the server has made is of no use.
            await signOut(token)
            throw error
        }
        return StoreReader.identity(identity)
    }

    /// The user has signed in.
    private func enter(_ identity: IdentityRecord, token: String) async throws {
        try checkOpen()
        let session = try sessionFile.signedIn(identity.userID, token: token)
        let old = sessionFile.session(session.identifier)?.token
        let engine = try self.engine ?? outlets.makeEngine(of: session)
        try persisting { try sessionFile.saveSession(session, isCurrent: true) }
        let isRenewal = self.engine != nil
        self.engine = engine
        if isRenewal { await engine?.resume(token: token) }
        // Otherwise the identity comes with the synchronization.
        _ = try? await engine?.change { try $0.storeFullIdentity(identity, isFollowed: true) }
        outlets.events.send(.authenticated(identity.userID))
        startEngine()
        if let old { await signOut(old) }
    }

    /// Reports to the server that a session has ended, if the server can be reached.
    private func signOut(_ token: String) async { _ = try? await server.signOut(token: token, deadline: .now + .seconds(2)) }

    private func signIn(_ identityToken: String) async throws -> JSONValue {
        let body: JSONValue = ["app_id": .string(appID.layerID), "identity_token": .string(identityToken)]
        let answer: RESTAnswer
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
        default: throw StrataError(answer.status >= 500 || answer.status == 429 ? .networkRequestFailed : .invalidToken, words)
        }
    }

    /// Signs the user out: the current session ends, its data are removed from this device, and what was not sent is lost. Calls that wait for objects or
    /// content of the session throw. Works without a connection too; the server is told if it can be reached. Nothing happens if no user is signed in.
    /// - Throws: ``StrataError/Code/devicePersistenceFailure``.
    public func deauthenticate() async throws {
        attempt += 1
        guard !isClosed, let session = sessionFile.current, session.userID != nil else { return }
        try await endSession(session)
    }

    /// Removes a session with all that belongs to it. If the process ends midway, the next client of the app removes the rest.
    func endSession(_ session: SessionFile.Stored) async throws {
        let isCurrent = sessionFile.current?.identifier == session.identifier
        try persisting { try sessionFile.removeSession(session.identifier) }
        if isCurrent { await stopEngine(releaseEngine()) }
        // Once this client is closed, another one may have the folder, and removes the data.
        let removal = Result { if !isClosed { try persisting { try sessionFile.removeData(of: session.store) } } }
        if let token = session.token { await signOut(token) }
        if isCurrent, let user = session.userID { outlets.events.send(.deauthenticated(user)) }
        try removal.get()
    }

    func challenged(_ user: UserID, token: String, need: SignInNeed) async {
        guard engine?.me == user else { return }
        try? sessionFile.challenge(user, token: token)
        guard case .challenge(var nonce) = need else { return }
        if nonce == nil { nonce = try? await server.nonce() }
        if let nonce { outlets.challenges.send(nonce) }
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

    /// A closed client does not touch sessions and stores, because another client may use them.
    func checkOpen() throws { if isClosed { throw StrataError(.notAuthenticated, "The client was closed.") } }

    /// The engine of the signed-in user.
    /// - Throws: ``StrataError/Code/notAuthenticated``.
    func signedIn() throws -> SyncEngine {
        guard let engine else { throw StrataError(.notAuthenticated, "No user is signed in.") }
        return engine
    }
}
