// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Calls as stock clients make them: what fails in transit, or is answered with 408, 502, 503 or 504, is tried again.
extension DemoUser {
    /// Signs in.
    /// - Returns: whether it worked.
    func signIn() async -> Bool {
        do {
            try await openSession()
            return true
        } catch {
            transcript.miss("\(name) could not sign in: \(error)")
            return false
        }
    }

    /// Signs in: nonce, identity token, session. What fails in passing is tried again.
    /// - Throws: ``ProtocolClientError``, and ``CommandFailure`` for a key that cannot sign.
    func openSession() async throws {
        for attempt in 1...20 {
            do {
                // A nonce is good for one attempt: should only the answer be lost, it has been used.
                let nonce = try await client.nonce()
                let identityToken = try await system.identityToken(user: id, displayName: name, nonce: nonce)
                let token = try await client.signIn(appID: LayerID.app.text(system.app.id), identityToken: identityToken)
                return state.change { $0.token = token }
            } catch let error as ProtocolClientError where attempt < 20 && Self.isPassing(error) {
                transcript.trouble("\(name)'s sign-in failed (\(error)); again")
                if error.answer == nil { takeNextGateway() }
                await pause(attempt)
            }
        }
    }

    /// Asks whether the session is good; signs in again if it is not.
    func isSessionGood() async -> Bool {
        let token = state.change { $0.token }
        do {
            let answer = try await client.call(
                "GET", "/?action=validateConnectionForWebsocket&client=demo", token: token, deadline: .now + .seconds(5))
            guard answer.status == 401 else { return answer.isSuccess }
            transcript.miss("\(name)'s session ended, though no request ended it")
            return await signIn()
        } catch {
            takeNextGateway()
            return false
        }
    }

    /// Makes a call that may be repeated.
    /// - Returns: the answer; nil if there was none to be had.
    func call(_ method: String, _ path: String, body: JSONValue? = nil) async -> RESTAnswer? {
        for attempt in 1...20 {
            if let answer = await once(method, path, body: body) { return answer }
            await pause(attempt)
        }
        transcript.miss("\(name): \(method) \(path) got no answer")
        return nil
    }

    /// Makes a call that has to succeed and may be repeated.
    /// - Returns: the body of the answer.
    @discardableResult
    func does(_ what: String, method: String, path: String, body: JSONValue? = nil) async -> JSONValue {
        transcript.say("\(name) \(what)")
        guard let answer = await call(method, path, body: body) else { return .null }
        if !answer.isSuccess { transcript.miss("\(name): \(method) \(path) was refused: \(answer.errorID ?? "status \(answer.status)")") }
        return answer.json
    }

    /// Patches a conversation. A patch is never repeated blindly: after a failure the client looks whether it was carried out
    /// (docs/architecture.md §10).
    /// - Parameter isApplied: whether the conversation looks as it should afterwards.
    func patches(_ what: String, path: String, operations: JSONValue, isApplied: @Sendable (JSONValue) -> Bool) async {
        transcript.say("\(name) \(what)")
        for attempt in 1...20 {
            if let answer = await once("PATCH", path, body: operations) {
                if !answer.isSuccess { transcript.miss("\(name): the patch was refused: \(answer.errorID ?? "status \(answer.status)")") }
                return
            }
            await pause(attempt)
            guard let now = await call("GET", path) else { return }
            if isApplied(now.json) { return transcript.trouble("it had been carried out all the same") }
        }
        transcript.miss("\(name): the patch could not be made")
    }

    /// Creates something over the socket. The id makes it safe to ask again.
    /// - Returns: what was created or found; nil if that failed.
    func creates(_ what: String, method: String, in object: String? = nil, data: JSONValue) async -> JSONValue? {
        transcript.say("\(name) \(what)")
        for attempt in 1...20 {
            guard let socket = await readySocket() else { break }
            guard let answer = try? await socket.request(method, objectID: object, data: data) else {
                transcript.trouble("no answer to \(method); again")
                await pause(attempt)
                continue
            }
            if answer.isSuccess { return answer.data }
            let existing = answer.data["data"]
            if answer.errorID == "id_in_use", existing["id"] == data["id"] { return existing }
            guard ["service_unavailable", "request_timeout"].contains(answer.errorID ?? "") else {
                transcript.miss("\(name): \(method) was refused: \(answer.errorID ?? "?")")
                return nil
            }
            transcript.trouble("\(method): \(answer.errorID ?? "?"); again")
            await pause(attempt)
        }
        transcript.miss("\(name): \(method) could not be made")
        return nil
    }

    /// - Returns: nil if it failed in passing.
    private func once(_ method: String, _ path: String, body: JSONValue?) async -> RESTAnswer? {
        let token = state.change { $0.token }
        do {
            let answer = try await client.call(method, path, body: body, token: token)
            guard Self.passing.contains(answer.status) else { return answer }
            transcript.trouble("\(method): \(answer.status); again")
        } catch {
            transcript.trouble("\(method): no answer from \(gatewayName); again")
            takeNextGateway()
        }
        return nil
    }

    private static let passing = [408, 502, 503, 504]

    private static func isPassing(_ error: ProtocolClientError) -> Bool {
        if let answer = error.answer { return passing.contains(answer.status) }
        return error.code == .transport || error.code == .deadlineExceeded
    }
}
