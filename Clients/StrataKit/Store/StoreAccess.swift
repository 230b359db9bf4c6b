// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// Read access to a user's store that does not wait for writes.
struct StoreAccess: Sendable {
    let database: any DatabaseWriter
    let me: UserID
    /// The folder for content; nil if the store has none.
    let contentFolder: URL?
    let owner: SnapshotOwner

    func read<Value: Sendable>(_ body: @escaping @Sendable (StoreReader) throws -> Value) async throws -> Value {
        do {
            return try await database.read { db in try body(reader(db)) }
        } catch let error as DatabaseError {
            throw StrataError(
                .devicePersistenceFailure, "The store could not be read: \(error.resultCode)", underlying: [error])
        }
    }

    /// Removes content files that no part refers to. A killed process may have left them.
    /// - Parameter needed: the files of unsent changes.
    func clearContentFolder(except needed: Set<String>) throws {
        guard let contentFolder else { return }
        let inUse = try database.read { db in try reader(db).contentInUse() }
        ContentFolder(existing: contentFolder)
            .removeLeftovers(keeping: inUse.files.union(needed), resumable: inUse.resumable)
    }

    private func reader(_ db: Database) -> StoreReader {
        StoreReader(db: db, me: me, contentFolder: contentFolder, owner: owner)
    }
}
