// SPDX-License-Identifier: Apache-2.0
import Contracts
import Metrics
import Postgres
import RPC
import Redis
import StrataModel

/// Handles `PATCH` of metadata: validates, commits in one round trip, then publishes.
struct PatchHandler: CallHandler {
    let store: MetadataStore
    let redis: RedisClient
    let validation: MetadataPatchValidation
    /// Returns the epoch with which publications are marked: the database's, as far as this process knows it.
    private let epoch: @Sendable () -> String
    private let patches = Counter(label: "strata_metadata_patches_total", dimensions: [("outcome", "changed")])
    /// Patches that changed nothing, or were committed earlier with the same idempotency key.
    private let unchanged = Counter(label: "strata_metadata_patches_total", dimensions: [("outcome", "unchanged")])
    /// Patches whose commit failed with a ``StrataModel/Failure``, even if only because the database was unavailable.
    /// Patches that fail validation are not counted.
    private let refused = Counter(label: "strata_metadata_patches_total", dimensions: [("outcome", "refused")])

    init(
        store: MetadataStore, redis: RedisClient, validation: MetadataPatchValidation,
        epoch: @escaping @Sendable () -> String = { "" }
    ) {
        self.epoch = epoch
        self.store = store
        self.redis = redis
        self.validation = validation
    }

    func register(on router: inout CallRouter) {
        router.register(MetadataAPI.patchMetadata) { try await patch($0, deadline: $1.deadline) }
    }

    /// Commits a patch and publishes its change. An answer means that the patch is committed. The publication is only a
    /// hint: it is sent after the commit and not awaited.
    func patch(
        _ request: ProtoPatchMetadataRequest, deadline: ContinuousClock.Instant
    ) async throws -> ProtoPatchMetadataResponse {
        guard let actor = request.actor.isEmpty ? .appServer : UserID(request.actor) else {
            throw Failure.invalid("actor", reason: "is not a user id")
        }
        let operations = request.operations.map { MetadataOperation($0) }
        try validation.checkOperations(operations)
        let patch = MetadataPatch(
            app: try AppID(contract: request.appID), conversation: try ConversationID(contract: request.conversationID),
            actor: actor,
            operations: operations, origin: request.hasOrigin ? Change.Origin(request.origin) : nil,
            idempotencyKey: request.hasMutation ? try IdempotencyKey(request.mutation) : nil)
        let committed: MetadataStore.Committed
        do {
            committed = try await store.commit(patch, deadline: deadline)
        } catch let failure as Failure {
            refused.increment()
            throw failure
        }
        var response = ProtoPatchMetadataResponse()
        response.place = ProtoChangePlace(committed.place)
        guard let change = committed.change else {
            unchanged.increment()
            return response
        }
        patches.increment()
        redis.publishWithoutWaiting(
            try ConversationPublication.change(change).encoded(epoch: epoch()),
            to: Channels.conversation(change.conversationID))
        response.change = ProtoChange(change)
        return response
    }
}

/// A validated patch, ready to be committed.
struct MetadataPatch: Sendable {
    var app: AppID
    var conversation: ConversationID
    /// The acting user, or ``StrataModel/UserID/appServer`` for the app's own server.
    var actor: UserID
    /// The operations, executed in order, all or none.
    var operations: [MetadataOperation]
    var origin: Change.Origin?
    /// The idempotency key of the patch, if its client gave one.
    var idempotencyKey: IdempotencyKey?
}
