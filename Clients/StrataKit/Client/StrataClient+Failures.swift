// SPDX-License-Identifier: Apache-2.0
import GRDB
import StrataModel

extension StrataClient {
    /// The refused changes that the app has not confirmed by ``confirmFailures(_:)``, the oldest first; at most the newest 1,000.
    ///
    /// Each of them is published once as ``ClientEvent/operationFailed(_:)``. An app that must show every one to its user reads these when it starts: the
    /// process may have ended before the app handled the event.
    /// - Throws: ``StrataError/Code/notAuthenticated``, ``StrataError/Code/devicePersistenceFailure``.
    public func unconfirmedFailures() async throws -> [OperationFailure] { try await signedIn().read { try $0.failures() } }

    /// Forgets refused changes that the app has handled. Others than ``unconfirmedFailures()`` are ignored.
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
