// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// The transfer state of content. Content is immutable, so all parts with the same content share one file.
extension StoreTransaction {
    // MARK: Downloads

    func downloadBegan(_ content: ContentID) throws {
        try updateParts(with: content) { part in if part.file == nil { part.transferStatus = .downloading } }
    }

    func downloadFailed(_ content: ContentID) throws {
        try updateParts(with: content) { part in
            if part.transferStatus == .downloading { part.transferStatus = .readyForDownload }
        }
    }

    /// Records that the content is on this device, in a file of the content folder.
    func downloaded(_ content: ContentID, file: String) throws {
        try updateParts(with: content) { part in
            if part.file == nil { (part.file, part.transferStatus, part.usedAt) = (file, .complete, now) }
        }
    }

    /// Records that the content was removed from this device. Its time of use excludes it from automatic downloads.
    func purged(_ content: ContentID) throws {
        try updateParts(with: content) { part in
            (part.file, part.transferStatus, part.usedAt) = (nil, .readyForDownload, now)
        }
    }

    func used(_ content: ContentID) throws { try updateParts(with: content) { $0.usedAt = now } }

    private func updateParts(with content: ContentID, _ change: (inout PartRecord) -> Void) throws {
        let owners = try db.cachedStatement(sql: "SELECT DISTINCT message FROM part WHERE content = ?")
            .all([content.blob], in: db) { $0[0] as UUID }
        for owner in owners {
            try updateParts(of: owner) { parts in
                for index in parts.indices where parts[index].content == content { change(&parts[index]) }
            }
        }
    }

    /// Changes the parts of a message or announcement, both in the server's state and in pending operations.
    private func updateParts(of owner: UUID, _ change: (inout [PartRecord]) -> Void) throws {
        let id = MessageID(rawValue: owner)
        guard let touched = try touch(id, in: nil) else {
            guard var record = try announcement(AnnouncementID(rawValue: owner)) else { return }
            change(&record.parts)
            return try setAnnouncement(record.id, to: record)
        }
        if var record = touched.server {
            change(&record.parts)
            try setMessage(id, in: record.conversation, to: record)
        }
        for operation in queue.operations(on: id, in: touched.conversation) where !operation.change.parts.isEmpty {
            var parts = operation.change.parts
            change(&parts)
            try replace(operation, by: operation.change.withParts(parts))
        }
    }

    // MARK: Uploads

    func setUploading(_ isUploading: Bool, part: UUID, for operation: UUID) throws {
        guard let operation = queue[operation] else { return }
        try updatePart(part, of: operation) { part in
            if part.content == nil { part.transferStatus = isUploading ? .uploading : .awaitingUpload }
        }
    }

    func uploaded(_ part: UUID, as content: ContentID, for operation: UUID) throws {
        guard var operation = queue[operation] else { return }
        try updatePart(part, of: operation) { part in
            (part.content, part.transferStatus, part.usedAt) = (content, .complete, now)
        }
        operation = queue[operation.id] ?? operation
        var upload = operation.upload(of: part)
        (upload.finishedAt, upload.times) = (now, upload.times + 1)
        operation.uploads = (operation.uploads ?? [:]).merging([part: upload]) { $1 }
        queue.updateOperation(operation)
    }

    /// Schedules stale content of an operation for a new upload. The server keeps content that is in no message for
    /// about a day.
    /// - Parameter isStale: returns true if the server may have deleted content that was uploaded at this time.
    func forgetUploads(of operation: UUID, where isStale: (Int64) -> Bool) throws {
        guard let operation = queue[operation] else { return }
        for part in operation.change.parts where part.content != nil && part.file != nil {
            guard var upload = operation.uploads?[part.id], let time = upload.finishedAt, isStale(time) else {
                continue
            }
            guard var current = queue[operation.id] else { return }
            // Use a new idempotency key. With the old one, the server would return the old content without extending
            // its lifetime.
            (upload.name, upload.finishedAt) = (newID(), nil)
            current.uploads?[part.id] = upload
            queue.updateOperation(current)
            try updatePart(part.id, of: current) { part in (part.content, part.transferStatus) = (nil, .awaitingUpload)
            }
        }
    }

    private func updatePart(_ id: UUID, of operation: QueuedOperation, _ change: (inout PartRecord) -> Void) throws {
        var parts = operation.change.parts
        guard let place = parts.firstIndex(where: { $0.id == id }) else { return }
        change(&parts[place])
        try replace(operation, by: operation.change.withParts(parts))
    }

    /// Resets the transfers that the end of the process interrupted.
    func resetTransfers() throws {
        let downloads =
            try db.cachedStatement(
                sql: "SELECT DISTINCT content FROM part WHERE content IS NOT NULL AND transfer_status = ?"
            )
            .all([ContentTransferStatus.downloading.rawValue], in: db) { ContentID(rawValue: $0[0]) }
        for content in downloads { try downloadFailed(content) }
        for operation in queue.all {
            for part in operation.change.parts where part.transferStatus == .uploading {
                try setUploading(false, part: part.id, for: operation.id)
            }
        }
    }
}
