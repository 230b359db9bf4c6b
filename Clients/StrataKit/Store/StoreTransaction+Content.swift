// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// Where the content of parts is. Content never changes: all parts with the same content have the same file.
extension StoreTransaction {
    // MARK: Downloads

    /// The content is to be downloaded.
    func downloadBegan(_ content: ContentID) throws {
        try updateParts(with: content) { part in if part.file == nil { part.transferStatus = .downloading } }
    }

    /// A download has ended without success.
    func downloadFailed(_ content: ContentID) throws {
        try updateParts(with: content) { part in if part.transferStatus == .downloading { part.transferStatus = .readyForDownload } }
    }

    /// The content is on this device, in a file of the content folder.
    func downloaded(_ content: ContentID, file: String) throws {
        try updateParts(with: content) { part in
            if part.file == nil { (part.file, part.transferStatus, part.usedAt) = (file, .complete, now) }
        }
    }

    /// The content was removed from this device. It does not come again by itself, because it was used before.
    func purged(_ content: ContentID) throws {
        try updateParts(with: content) { part in (part.file, part.transferStatus, part.usedAt) = (nil, .readyForDownload, now) }
    }

    /// The app has read the content.
    func used(_ content: ContentID) throws { try updateParts(with: content) { $0.usedAt = now } }

    private func updateParts(with content: ContentID, _ change: (inout PartRecord) -> Void) throws {
        let owners = try db.cachedStatement(sql: "SELECT DISTINCT message FROM part WHERE content = ?").all([content.blob], in: db) { $0[0] as UUID }
        for owner in owners {
            try updateParts(of: owner) { parts in for index in parts.indices where parts[index].content == content { change(&parts[index]) } }
        }
    }

    /// Changes what is known of the parts of a message or announcement, as the server has told of it and as it is to be sent.
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

    /// An upload has begun, or has ended without success.
    func setUploading(_ isUploading: Bool, part: UUID, for operation: UUID) throws {
        guard let operation = queue[operation] else { return }
        try updatePart(part, of: operation) { part in
            if part.content == nil { part.transferStatus = isUploading ? .uploading : .awaitingUpload }
        }
    }

    /// The content of a part that is to be sent is on the server.
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

    /// Content of an operation has to be uploaded again: the server keeps content that is in no message for about a day only.
    /// - Parameter isStale: whether the content of an upload with this time may be gone.
    func forgetUploads(of operation: UUID, where isStale: (Int64) -> Bool) throws {
        guard let operation = queue[operation] else { return }
        for part in operation.change.parts where part.content != nil && part.file != nil {
            guard var upload = operation.uploads?[part.id], let time = upload.finishedAt, isStale(time) else { continue }
            guard var current = queue[operation.id] else { return }
            // Under the same name the server would give the same content, and keep it no longer.
            (upload.name, upload.finishedAt) = (newID(), nil)
            current.uploads?[part.id] = upload
            queue.updateOperation(current)
            try updatePart(part.id, of: current) { part in (part.content, part.transferStatus) = (nil, .awaitingUpload) }
        }
    }

    private func updatePart(_ id: UUID, of operation: QueuedOperation, _ change: (inout PartRecord) -> Void) throws {
        var parts = operation.change.parts
        guard let place = parts.firstIndex(where: { $0.id == id }) else { return }
        change(&parts[place])
        try replace(operation, by: operation.change.withParts(parts))
    }

    /// What was interrupted by the end of the process neither uploads nor downloads any more.
    func resetTransfers() throws {
        let downloads = try db.cachedStatement(sql: "SELECT DISTINCT content FROM part WHERE content IS NOT NULL AND transfer_status = ?")
            .all([ContentTransferStatus.downloading.rawValue], in: db) { ContentID(rawValue: $0[0]) }
        for content in downloads { try downloadFailed(content) }
        for operation in queue.all {
            for part in operation.change.parts where part.transferStatus == .uploading {
                try setUploading(false, part: part.id, for: operation.id)
            }
        }
    }
}
