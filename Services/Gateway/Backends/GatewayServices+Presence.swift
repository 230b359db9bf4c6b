// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf
import Synchronization

/// Typing and presence. Both may be dropped under pressure, so deadlines are short.
extension GatewayServices {
    static let typingDeadline = Duration.seconds(2)

    func typing(_ action: TypingAction, by user: UserKey, in conversation: ConversationID) async throws(Failure) {
        let request = ProtoTypingRequest.with {
            $0.conversationID = Data(conversation)
            $0.userID = user.user.rawValue
            $0.action = action.rawValue
        }
        _ = try await presence.call(PresenceAPI.typing, with: request, for: .within(Self.typingDeadline))
    }

    func endTyping(of user: UserKey, in conversation: ConversationID) {
        Task { try? await typing(.finished, by: user, in: conversation) }
    }

    /// - Parameter status: one of `available`, `busy`, `away`, `offline`, `invisible`, `auto`.
    func setPresence(_ status: String, connection: UInt64, for call: Call) async throws(Failure) {
        let request = ProtoSetPresenceRequest.with {
            $0.lease = Self.lease(of: call.key, connection: connection)
            $0.status = status
        }
        let answer = try await presence.call(PresenceAPI.setPresence, with: request, for: call)
        renewalPeriod.updated(milliseconds: answer.renewAfterMs)
    }

    /// The maximum number of items in one call. It is below the service's limit, so that Redis answers within the
    /// service's timeout.
    private static let presenceBatch = min(1000, PresenceAPI.maximumItems)

    /// Renews leases in sequential batches. A failed batch does not affect the others and is retried in the next
    /// period.
    /// - Returns: the connections whose lease the service no longer has.
    func renewPresence(_ leases: [(key: UserKey, connection: UInt64)]) async -> Set<UInt64> {
        var forgotten: Set<UInt64> = []
        for batch in leases.batches(of: Self.presenceBatch) {
            let request = ProtoRenewPresenceRequest.with {
                $0.leases = batch.map { Self.lease(of: $0.key, connection: $0.connection) }
            }
            let answer = try? await presence.call(PresenceAPI.renewPresence, with: request, for: .within(.seconds(5)))
            guard let answer else { continue }
            renewalPeriod.updated(milliseconds: answer.renewAfterMs)
            forgotten.formUnion(answer.forgotten.map(\.connection))
        }
        return forgotten
    }

    func releasePresence(_ key: UserKey, connection: UInt64) async throws(Failure) {
        _ = try await presence.call(
            PresenceAPI.releasePresence, with: .with { $0.leases = [Self.lease(of: key, connection: connection)] },
            for: .within(.seconds(5)))
    }

    /// - Parameter users: any number of users, requested in batches.
    func presences(
        of users: [UserID], since: Timestamp? = nil, for call: Call
    ) async throws(Failure) -> [PresencePublication] {
        var found: [PresencePublication] = []
        for batch in users.batches(of: Self.presenceBatch) {
            let request = ProtoGetPresenceRequest.with {
                $0.appID = call.appData
                $0.userIds = batch.map(\.rawValue)
                if let since { $0.since = since.microseconds }
            }
            let answer = try await presence.call(PresenceAPI.getPresence, with: request, for: call)
            found += try Self.converted { try answer.presences.map { try PresencePublication($0) } }
        }
        return found
    }

    private static func lease(of key: UserKey, connection: UInt64) -> ProtoLease {
        .with {
            $0.appID = Data(key.app)
            $0.userID = key.user.rawValue
            $0.connection = connection
        }
    }
}

/// The period in which this gateway renews a presence lease. The presence service names it in its answers, because it
/// determines how long a lease lasts.
final class RenewalPeriod: Sendable {
    /// The default until the presence service names its lease: 20 s, for 60 s leases.
    private let current = Atomic(20)

    /// The period in whole seconds, at least one, because sockets are checked once a second.
    var seconds: Int { current.load(ordering: .relaxed) }

    /// Updates the period.
    /// - Parameter milliseconds: 0 if the service does not name it.
    func updated(milliseconds: UInt32) {
        guard milliseconds > 0 else { return }
        current.store(max(1, Int(milliseconds / 1000)), ordering: .relaxed)
    }
}
