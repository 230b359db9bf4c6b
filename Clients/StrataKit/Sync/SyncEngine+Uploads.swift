// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

extension SyncEngine {
    /// Uploads the content of a change's parts, before the change can be sent.
    func upload(_ id: UUID) async {
        guard let operation = core.queue[id], let transfers else { return requests.ended(id) }
        do {
            try await upload(operation, by: transfers)
            requests.ended(id)
            proceed()
        } catch let error as StrataError {
            uploadFailed(id, error: error)
        } catch {
            // The engine was stopped, or the change was withdrawn.
            requests.ended(id)
        }
    }

    private func upload(_ operation: QueuedOperation, by transfers: ContentTransfers) async throws {
        let parts = operation.change.parts.filter { $0.body == nil && $0.content == nil }
        content.uploadBegan(parts, of: operation.id)
        _ = writeOrReconnect { store in
            for part in parts { try store.setUploading(true, part: part.id, for: operation.id) }
        }
        defer { content.uploadEnded(parts) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in parts { group.addTask { try await self.upload(part, of: operation, by: transfers) } }
            var failure: (any Error)?
            while let result = await group.nextResult() {
                guard case .failure(let error) = result, failure == nil else { continue }
                failure = error
                // Without this part, the change cannot be sent, so the other uploads are cancelled.
                for part in parts { await transfers.cancel(.upload(part.id)) }
            }
            if let failure { throw failure }
        }
    }

    private func upload(_ part: PartRecord, of operation: QueuedOperation, by transfers: ContentTransfers) async throws
    {
        guard let file = part.file else { throw StrataError(.invalidMessage, "A part has no content.") }
        let name = operation.upload(of: part.id).name
        // Publish the end of the transfer before its consequences.
        defer { takeTransferEvents() }
        let content = try await transfers.upload(
            ContentUpload(part: part.id, name: name, file: file, mimeType: part.mimeType, size: part.size))
        _ = writeOrReconnect { try $0.uploaded(part.id, as: content, for: operation.id) }
    }

    /// Refuses a change whose upload failed. A message is not sent, and stays, marked as failed.
    private func uploadFailed(_ id: UUID, error: StrataError) {
        requests.ended(id)
        _ = writeOrReconnect { store in
            for part in store.queue[id]?.change.parts ?? [] where part.transferStatus == .uploading {
                try store.setUploading(false, part: part.id, for: id)
            }
            try store.operationRefused(id, error: error)
        }
        proceed()
    }

    /// Cancels the uploads of withdrawn changes, for example of a deleted message.
    func stopNeedlessUploads() {
        guard let transfers else { return }
        for (part, operation) in content.uploads where core.queue[operation]?.isUnanswered != true {
            startJob { _ in await transfers.cancel(.upload(part)) }
        }
    }

    /// Repeats uploads that are old enough for the server to have removed the content.
    func renewUploads() {
        let limit = Date.now.microseconds - Self.uploadLifetime
        let stale = core.queue.operations.values.filter {
            $0.hasUpload(before: limit) && !requests.unanswered.contains($0.id)
        }
        for operation in stale { _ = writeOrReconnect { try $0.forgetUploads(of: operation.id) { $0 < limit } } }
    }
}

extension QueuedOperation {
    /// Returns true if content was uploaded before this time, and may be uploaded again.
    func hasUpload(before limit: Int64) -> Bool {
        guard let uploads, isUnanswered, uploads.values.contains(where: { $0.finishedAt.map { $0 < limit } ?? false })
        else { return false }
        // A change that the server may have processed must be repeated unchanged. Exception: for a message, the same
        // message id is sufficient.
        if case .sendMessage = change { return true }
        return state == .waiting
    }
}
