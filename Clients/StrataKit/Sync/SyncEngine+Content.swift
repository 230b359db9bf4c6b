// SPDX-License-Identifier: Apache-2.0
import Foundation
import NetKit
import StrataModel

extension SyncEngine {
    /// Creates the transfers of this engine; nil if the store has no usable content folder.
    func makeTransfers() -> ContentTransfers? {
        guard let url = contentFolder, let folder = try? ContentFolder(url: url) else { return nil }
        let server = ProtocolContentServer(client: dependencies.server) { [weak self] in await self?.token }
        return ContentTransfers(server: server, folder: folder) { [weak self, events = content.events] event in
            // Tasks may run in any order; the mailbox preserves the order of the events.
            events.put(event)
            Task { await self?.takeTransferEvents() }
        }
    }

    func takeTransferEvents() {
        for event in content.events.take() {
            switch event {
            case .signInNeeded(let nonce): sessionEnded(nonce: nonce, of: token)
            case .began(let id, let progress): transferBegan(id, progress: progress)
            case .ended(let id, let result): transferEnded(id, result: result)
            }
        }
    }

    private func transferBegan(_ id: TransferID, progress: TransferProgress) {
        switch id {
        case .download(let content): _ = writeOrReconnect { try $0.downloadBegan(content) }
        case .upload(let part):
            guard let operation = content.uploads[part] else { return }
            _ = writeOrReconnect { try $0.setUploading(true, part: part, for: operation) }
        }
        let parts = parts(of: id)
            .map { PartTransfer(direction: id.isUpload ? .upload : .download, part: $0, progress: progress) }
        content.began(id, parts: parts)
        for transfer in parts { dependencies.publish(.contentTransferBegan(transfer)) }
    }

    private func transferEnded(_ id: TransferID, result: ContentTransferEvent.Result) {
        var failure: StrataError?
        switch result {
        case .uploaded: break
        case .downloaded(let file): if case .download(let content) = id { downloaded(content, file: file) }
        case .failed(let error): failure = error
        case .cancelled: failure = StrataError(.transferCancelled, "The transfer was cancelled.")
        }
        if failure != nil { transferFailed(id, isCancelled: result == .cancelled) }
        let parts = parts(of: id)
        for began in content.ended(id) {
            let part = parts.first { $0.id == began.part.id && $0.messageID == began.part.messageID } ?? began.part
            let transfer = PartTransfer(direction: began.direction, part: part, progress: began.progress)
            dependencies.publish(.contentTransferEnded(transfer, failure))
        }
        if !id.isUpload { downloadNew() }
    }

    private func transferFailed(_ id: TransferID, isCancelled: Bool) {
        switch id {
        case .download(let content):
            // Otherwise the automatic download would start again immediately.
            self.content.downloadFailed(content)
            _ = writeOrReconnect { try $0.downloadFailed(content) }
        case .upload(let part):
            guard let operation = content.uploads[part] else { return }
            _ = writeOrReconnect { try $0.setUploading(false, part: part, for: operation) }
        }
    }

    private func parts(of id: TransferID) -> [MessagePart] {
        switch id {
        case .download(let content): return (try? core.read { try $0.parts(with: content) }) ?? []
        case .upload(let part):
            guard let operation = content.uploads[part], let message = core.queue[operation]?.change.messages.first
            else { return [] }
            return ((try? core.read { try $0.part(part, of: message) }) ?? nil).map { [$0] } ?? []
        }
    }

    func transferProgress(of part: MessagePart) -> TransferProgress? {
        let id = part.contentID.map { TransferID.download($0) } ?? .upload(part.id)
        return content.progress(of: id)
    }

    // MARK: Downloads

    /// Downloads the content of a part and waits until it is on this device.
    /// - Returns: the file.
    func download(_ part: MessagePart) async throws -> URL {
        let record = try await record(of: part)
        guard record.body == nil else { throw Self.inlined }
        guard record.file == nil, let content = record.content else {
            throw StrataError(.contentAlreadyAvailable, "The content is on this device.")
        }
        guard isLive, let transfers else { throw StrataError(.notConnected, "The client is not connected.") }
        self.content.requested(content)
        defer { takeTransferEvents() }
        let file = try await transfers.download(ContentDownload(id: content, record))
        downloaded(content, file: file.lastPathComponent)
        return file
    }

    /// Records a complete file. A download with a waiting caller reports this twice.
    private func downloaded(_ content: ContentID, file: String) {
        guard let folder = contentFolder.map({ ContentFolder(existing: $0) }), folder.size(of: folder.file(file)) != nil
        else { return }
        guard writeOrReconnect({ try $0.downloaded(content, file: file) }) else { return }
        // The messages may have been deleted during the download.
        removeUnused([file])
        makeRoom(keeping: file)
    }

    /// Starts the automatic downloads that the app's options allow, newest messages first.
    func downloadNew() {
        let options = dependencies.options.content
        guard options.autodownloadMaximumContentSize > 0, let transfers else { return }
        let failed = content.failedDownloads
        let wanted = try? core.read { store in
            try store.neverDownloaded(upTo: options.autodownloadMaximumContentSize, limit: Self.automaticDownloads) {
                part in
                options.downloads(mimeType: part.mimeType, size: part.size, wasPurged: false)
                    && part.content.map { !failed.contains($0) } ?? false
            }
        }
        let downloads = (wanted ?? [])
            .compactMap { part, sentAt in
                part.content.map {
                    (ContentDownload(id: $0, part), TransferQueue.Rank(isRequested: false, ordering: sentAt))
                }
            }
        guard !downloads.isEmpty else { return }
        startJob { _ in for (download, rank) in downloads { await transfers.beginDownload(download, rank: rank) } }
    }

    // MARK: The disk

    /// Removes the least recently used content if the disk capacity is exceeded.
    private func makeRoom(keeping kept: String) {
        let capacity = dependencies.options.content.diskCapacity
        guard capacity > 0, let files = try? core.read({ try $0.contentFiles() }) else { return }
        let contents = Dictionary(files.map { ($0.file.name, $0.content) }) { $1 }
        let doomed = DiskPlan(files: files.map(\.file), capacity: capacity).deletions.map(\.name).filter { $0 != kept }
        for name in doomed { if let content = contents[name] ?? nil { removeContent(content, file: name) } }
    }

    func purge(_ part: MessagePart) async throws {
        let record = try await record(of: part)
        guard record.body == nil else { throw Self.inlined }
        var isSent = true
        if let message = part.messageID { isSent = try await read { try $0.messageRecord(message)?.isSent } ?? true }
        guard let content = record.content, isSent else {
            throw StrataError(.objectNotSent, "The message of the part was not sent yet.")
        }
        guard let file = record.file else {
            throw StrataError(.contentAlreadyPurged, "The content is not on this device.")
        }
        guard removeContent(content, file: file) else {
            throw StrataError(.devicePersistenceFailure, "The store could not be written.")
        }
    }

    /// Removes content: first the reference in the store, then the file.
    @discardableResult
    private func removeContent(_ content: ContentID, file: String) -> Bool {
        guard writeOrReconnect({ try $0.purged(content) }) else { return false }
        removeUnused([file])
        return true
    }

    /// Removes the given files that no part refers to and no upload needs.
    func removeUnused(_ names: Set<String>) {
        guard let contentFolder, !names.isEmpty, let unused = try? core.read({ try $0.unusedFiles(among: names) })
        else { return }
        let needed = core.queue.files
        // The end of an operation is no change of a part. Such files are checked after each write.
        content.heldFiles.formUnion(unused.filter { needed.contains($0) })
        ContentFolder(existing: contentFolder).removeFiles(unused.filter { !needed.contains($0) })
    }

    /// Returns the bytes of a part. Counts as a use of the content.
    func bytes(of part: MessagePart) async throws -> Data {
        let record = try await record(of: part)
        if let body = record.body { return body }
        guard let contentFolder, let file = record.file else {
            throw StrataError(.contentAlreadyPurged, "The content is not on this device.")
        }
        if let content = record.content { try write { try $0.used(content) } }
        let url = ContentFolder(existing: contentFolder).file(file)
        return try await ContentFolder.runBlocking {
            do { return try Data(contentsOf: url) } catch {
                throw StrataError.file("the content of a part cannot be read", underlying: error)
            }
        }
    }

    var diskUtilization: Int { contentFolder.map { ContentFolder(existing: $0).utilization } ?? 0 }

    private static var inlined: StrataError {
        StrataError(.contentInlined, "The bytes of the part came with its message.")
    }

    private func record(of part: MessagePart) async throws -> PartRecord {
        guard let record = try await read({ try $0.partRecord(part.id, of: part.messageID) }) else {
            throw StrataError(.messageDeleted, "The part is not on this device.")
        }
        return record
    }
}

extension ContentDownload {
    fileprivate init(id: ContentID, _ part: PartRecord) {
        self.init(
            id: id, mimeType: part.mimeType, size: part.size, url: part.downloadURL, expires: part.downloadExpires?.date
        )
    }
}

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

    /// Uploads the parts of an operation that the server does not have. After a failure it cancels the other uploads.
    /// - Throws: the first failure.
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
