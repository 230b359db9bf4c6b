// SPDX-License-Identifier: Apache-2.0

import Contracts
import FoundationEssentials
import RPC
import Redis
import StrataModel
import SwiftProtobuf

/// Handles the gateways' calls about presence.
struct PresenceHandler: CallHandler {
    let store: PresenceStore
    /// The period in which gateways are to renew leases.
    let renewAfter: Duration

    func register(on router: inout CallRouter) {
        router.register(PresenceAPI.setPresence) { try await set($0, deadline: $1.deadline) }
        router.register(PresenceAPI.renewPresence) { try await renew($0, deadline: $1.deadline) }
        router.register(PresenceAPI.releasePresence) { try await release($0, deadline: $1.deadline) }
        router.register(PresenceAPI.getPresence) { try await get($0, deadline: $1.deadline) }
    }

    func set(
        _ request: ProtoSetPresenceRequest, deadline: ContinuousClock.Instant
    ) async throws -> ProtoSetPresenceResponse {
        let status = Presence.Status(rawValue: request.status)
        guard status != nil || request.status == "auto" else {
            throw Failure.invalid("status", reason: "must be available, busy, away, offline, invisible or auto")
        }
        let user = try user(request.lease)
        try await refusing { try await store.set(status, of: request.lease.connection, for: user, deadline: deadline) }
        return .with { $0.renewAfterMs = UInt32(clamping: renewAfter.milliseconds) }
    }

    func renew(
        _ request: ProtoRenewPresenceRequest, deadline: ContinuousClock.Instant
    ) async throws -> ProtoRenewPresenceResponse {
        let leases = try grouped(request.leases)
        let forgotten = try await refusing { try await store.renew(leases, deadline: deadline) }
        var response = ProtoRenewPresenceResponse()
        response.renewAfterMs = UInt32(clamping: renewAfter.milliseconds)
        for (user, connections) in forgotten {
            for connection in connections { response.forgotten.append(lease(of: user, connection: connection)) }
        }
        return response
    }

    func release(_ request: ProtoReleasePresenceRequest, deadline: ContinuousClock.Instant) async throws -> ProtoEmpty {
        let leases = try grouped(request.leases)
        try await refusing { try await store.release(leases, deadline: deadline) }
        return ProtoEmpty()
    }

    func get(
        _ request: ProtoGetPresenceRequest, deadline: ContinuousClock.Instant
    ) async throws -> ProtoGetPresenceResponse {
        try checkCount(request.userIds.count)
        let app = try AppID(contract: request.appID)
        let users = try request.userIds.map { id in
            guard let user = UserID(id) else {
                throw Failure.invalid("user_ids", reason: "has an element that is not a user id")
            }
            return PresenceStore.User(app: app, id: user)
        }
        let found = try await refusing { try await store.find(users, deadline: deadline) }
        let since = request.hasSince ? Timestamp(microseconds: request.since) : nil
        var response = ProtoGetPresenceResponse()
        for (user, found) in zip(users, found) {
            if let since, found.changedAt.map({ $0 <= since }) ?? true { continue }
            response.presences.append(
                PresencePublication(appID: user.app, user: user.id, presence: found.presence).proto)
        }
        return response
    }

    private func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as RedisError {
            throw error.refusal
        }
    }

    private func checkCount(_ count: Int) throws(Failure) {
        let limit = PresenceAPI.maximumItems
        guard count <= limit else { throw Failure(.invalidRequest, "At most \(limit) users can be named at once.") }
    }

    private func user(_ lease: ProtoLease) throws -> PresenceStore.User {
        guard let id = UserID(lease.userID) else { throw Failure.invalid("user_id", reason: "is not a user id") }
        return PresenceStore.User(app: try AppID(contract: lease.appID), id: id)
    }

    private func lease(of user: PresenceStore.User, connection: UInt64) -> ProtoLease {
        var lease = ProtoLease()
        lease.appID = Data(user.app)
        lease.userID = user.id.rawValue
        lease.connection = connection
        return lease
    }

    /// Returns the leases grouped by user, so that one script handles each user's leases.
    private func grouped(_ leases: [ProtoLease]) throws -> [(user: PresenceStore.User, connections: [UInt64])] {
        try checkCount(leases.count)
        var connections: [PresenceStore.User: [UInt64]] = [:]
        for lease in leases { connections[try user(lease), default: []].append(lease.connection) }
        return connections.map { (user: $0.key, connections: $0.value) }
    }
}
