// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Calls with the retries of stock clients: after a failure in transit, and after status 408, 502, 503 or 504.
extension DemoUser {
    /// Signs in, and reports a failure to the transcript.
    /// - Returns: True if the sign-in succeeded.
    func signIn() async -> Bool {
        do {
            try await openSession()
            return true
        } catch {
            transcript.failedExpectation("\(name) could not sign in: \(error)")
            return false
        }
    }

    /// Signs in: nonce, identity token, session. Transient failures are retried.
    /// - Throws: ``ProtocolClientError``, and ``CommandFailure`` if the key cannot sign.
    func openSession() async throws {
        for attempt in 1...20 {
            do {
                // A nonce can be used only once. If the answer was lost, the nonce has been used.
                let nonce = try await client.nonce()
                let identityToken = try await system.identityToken(user: id, displayName: name, nonce: nonce)
                let token = try await client.signIn(
                    appID: LayerID.app.text(system.app.id), identityToken: identityToken)
                return state.change { $0.token = token }
            } catch let error as ProtocolClientError where attempt < 20 && Self.isPassing(error) {
                transcript.transientFailure("\(name)'s sign-in failed (\(error)); again")
                if error.answer == nil { takeNextGateway() }
                await pause(attempt)
            }
        }
    }

    /// Returns true if the session is valid, or if a new sign-in succeeds.
    func isSessionGood() async -> Bool {
        let token = state.change { $0.token }
        do {
            let answer = try await client.call(
                "GET", "/?action=validateConnectionForWebsocket&client=demo", token: token, deadline: .now + .seconds(5)
            )
            guard answer.status == 401 else { return answer.isSuccess }
            transcript.failedExpectation("\(name)'s session ended, though no request ended it")
            return await signIn()
        } catch {
            takeNextGateway()
            return false
        }
    }

    /// Makes an idempotent call, with retries.
    /// - Returns: The answer; nil if none was received.
    func call(_ method: String, _ path: String, body: JSONValue? = nil) async -> RESTResponse? {
        for attempt in 1...20 {
            if let answer = await once(method, path, body: body) { return answer }
            await pause(attempt)
        }
        transcript.failedExpectation("\(name): \(method) \(path) got no answer")
        return nil
    }

    /// Makes an idempotent call and reports a refusal to the transcript.
    /// - Returns: The body of the answer.
    @discardableResult
    func does(_ what: String, method: String, path: String, body: JSONValue? = nil) async -> JSONValue {
        transcript.say("\(name) \(what)")
        guard let answer = await call(method, path, body: body) else { return .null }
        if !answer.isSuccess {
            transcript.failedExpectation(
                "\(name): \(method) \(path) was refused: \(answer.errorID ?? "status \(answer.status)")")
        }
        return answer.json
    }

    /// Patches a conversation. After a failure the client checks whether the patch was applied before it repeats it
    /// (docs/architecture.md §10).
    /// - Parameter isApplied: Returns true if the conversation has the expected state.
    func patches(_ what: String, path: String, operations: JSONValue, isApplied: @Sendable (JSONValue) -> Bool) async {
        transcript.say("\(name) \(what)")
        for attempt in 1...20 {
            if let answer = await once("PATCH", path, body: operations) {
                if !answer.isSuccess {
                    transcript.failedExpectation(
                        "\(name): the patch was refused: \(answer.errorID ?? "status \(answer.status)")")
                }
                return
            }
            await pause(attempt)
            guard let now = await call("GET", path) else { return }
            if isApplied(now.json) { return transcript.transientFailure("it had been carried out all the same") }
        }
        transcript.failedExpectation("\(name): the patch could not be made")
    }

    /// Creates an object over the socket. The client's id makes the request idempotent.
    /// - Returns: The created or existing object; nil after a failure.
    func creates(_ what: String, method: String, in object: String? = nil, data: JSONValue) async -> JSONValue? {
        transcript.say("\(name) \(what)")
        for attempt in 1...20 {
            guard let socket = await readySocket() else { break }
            guard let answer = try? await socket.request(method, objectID: object, data: data) else {
                transcript.transientFailure("no answer to \(method); again")
                await pause(attempt)
                continue
            }
            if answer.isSuccess { return answer.data }
            let existing = answer.data["data"]
            if answer.errorID == "id_in_use", existing["id"] == data["id"] { return existing }
            guard ["service_unavailable", "request_timeout"].contains(answer.errorID ?? "") else {
                transcript.failedExpectation("\(name): \(method) was refused: \(answer.errorID ?? "?")")
                return nil
            }
            transcript.transientFailure("\(method): \(answer.errorID ?? "?"); again")
            await pause(attempt)
        }
        transcript.failedExpectation("\(name): \(method) could not be made")
        return nil
    }

    /// Makes one attempt. Returns nil after a transient failure.
    private func once(_ method: String, _ path: String, body: JSONValue?) async -> RESTResponse? {
        let token = state.change { $0.token }
        do {
            let answer = try await client.call(method, path, body: body, token: token)
            guard Self.passing.contains(answer.status) else { return answer }
            transcript.transientFailure("\(method): \(answer.status); again")
        } catch {
            transcript.transientFailure("\(method): no answer from \(gatewayName); again")
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
