// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB
public import StrataModel

/// A change by the app that the server refused after the call had returned. The client reverts its effects on this
/// device. Exception: a refused message stays, marked with ``Message/failure``.
public struct OperationFailure: Sendable, Hashable {
    /// The operation's name, for example `sendMessage` or `setMetadata`.
    public let operation: String
    /// The id of the operation.
    public let id: UUID
    /// The conversation that the operation changed; nil if there is none.
    public let conversation: ConversationID?
    /// The messages that the operation sent or changed.
    public let messages: [MessageID]
    /// The reason for the refusal.
    public let error: StrataError
}

extension StrataClient {
    /// Returns the refused changes that the app has not confirmed with ``confirmFailures(_:)``, oldest first. At most
    /// the newest 1,000 are kept.
    ///
    /// Each refused change is published once as ``ClientEvent/operationFailed(_:)``. The process may end before the app
    /// handles that event. An app that must show every refusal to its user reads this list at its start.
    /// - Throws: ``StrataError/Code/notAuthenticated``, ``StrataError/Code/devicePersistenceFailure``.
    public func unconfirmedFailures() async throws -> [OperationFailure] {
        try await signedIn().read { try $0.failures() }
    }

    /// Removes refused changes that the app has handled from ``unconfirmedFailures()``. Unknown failures are ignored.
    /// - Throws: ``StrataError/Code/notAuthenticated``, ``StrataError/Code/devicePersistenceFailure``.
    public func confirmFailures(_ failures: [OperationFailure]) async throws {
        _ = try await signedIn()
            .write { store in
                for failure in failures { try store.forgetFailure(failure) }
            }
    }
}

extension StoreReader {
    func failures() throws -> [OperationFailure] {
        try db.cachedStatement(sql: "SELECT record FROM failure ORDER BY sequence").all([], in: db) { $0[0] as String }
            .map { try StoreCoding.value(StoredFailure.self, from: $0).failure }
    }
}

extension StoreTransaction {
    func forgetFailure(_ failure: OperationFailure) throws {
        try db.cachedStatement(sql: "DELETE FROM failure WHERE id = ?").execute(arguments: [failure.id.data])
    }
}
