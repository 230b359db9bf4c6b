// SPDX-License-Identifier: Apache-2.0

import Contracts
import RPC
import Redis
import StrataModel

/// Handles the gateways' typing signals. The gateway checks that the user is a participant.
struct TypingHandler: CallHandler {
    let store: TypingStore

    func register(on router: inout CallRouter) {
        router.register(PresenceAPI.typing) { try await typing($0, deadline: $1.deadline) }
    }

    func typing(_ request: ProtoTypingRequest, deadline: ContinuousClock.Instant) async throws -> ProtoEmpty {
        guard let user = UserID(request.userID) else { throw Failure.invalid("user_id", reason: "is not a user id") }
        guard let action = TypingAction(rawValue: request.action) else {
            throw Failure.invalid("action", reason: "must be started, paused or finished")
        }
        let signal = TypingSignal(
            conversationID: try ConversationID(contract: request.conversationID), user: user, action: action)
        do {
            try await store.event(signal, deadline: deadline)
        } catch let error as RedisError {
            throw error.refusal
        }
        return ProtoEmpty()
    }
}

extension RedisError {
    /// The error for the caller: `service_unavailable` if Redis is unreachable or slow, or this error if it indicates a
    /// bug.
    var refusal: any Error {
        switch code {
        case .cancelled: CancellationError()
        case .server, .invalidConfiguration: self
        default: Failure.unavailable
        }
    }
}
