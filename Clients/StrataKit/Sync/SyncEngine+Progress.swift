// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import StrataModel

/// The progress of the synchronization and of the fetches of older messages.
extension SyncEngine {
    func publish(_ event: SyncEvent) {
        switch event {
        case .began:
            dependencies.publish(.synchronizationBegan(progress.syncBegan()))
        case .finished:
            progress.syncFinished()
            dependencies.publish(.synchronizationFinished)
        }
    }

    /// Updates the progress after a transaction has determined which conversations need older messages.
    func measure(_ findings: SyncFindings) {
        if !findings.historyWanted.isEmpty { progress.measure { $0.historyNeeded(findings.historyWanted) } }
        for id in progress.fetching { measureHistory(of: id) }
    }

    func measure(_ load: SyncLoad, answer: RESTResponse) {
        switch load {
        case .conversations:
            let ids = (answer.json.array ?? []).compactMap { ConversationID(parsing: $0["id"].string ?? "") }
            progress.measure {
                $0.pageReceived(
                    ids, total: answer.header("Layer-Count").flatMap { Int64($0) }.flatMap { WireObjects.count($0) })
            }
        case .conversation(let id): progress.measure { $0.pageReceived([id], total: nil) }
        case .identities, .announcements, .blocks, .history: break
        }
    }

    // MARK: Older messages

    /// Fetches older messages on request of the app.
    /// - Parameter goal: see ``StoreTransaction/setHistoryGoal(of:_:)``.
    func fetchHistory(
        of id: ConversationID, _ goal: @Sendable (ConversationRecord, Int, SyncProgress) throws -> HistoryGoal
    ) throws -> TransferProgress {
        let id = try core.read { try $0.resolve(id) }
        do {
            try write { try $0.setHistoryGoal(of: id, goal) }
        } catch let error as StrataError where error.code == .manualSyncAlreadyInProgress {
            throw StrataError(error.code, error.message, progress: progressOfHistory(of: id))
        }
        let progress = progressOfHistory(of: id)
        proceed()
        return progress
    }

    /// Returns the progress of the current fetch, and publishes the start of a fetch that has no progress yet.
    func progressOfHistory(of id: ConversationID) -> TransferProgress {
        if let known = progress.history(of: id) { return known }
        let missing = (try? write { try $0.missingMessages(of: id) }) ?? 0
        let progress = TransferProgress(total: missing, unit: .messages, isCancellable: true) { [weak self] _ in
            Task { await self?.endHistory(of: id) }
        }
        self.progress.historyBegan(of: id, progress)
        dependencies.publish(.conversationSyncBegan(id, progress))
        return progress
    }

    /// Updates the progress of a fetch, or ends it if the fetch is complete.
    private func measureHistory(of id: ConversationID) {
        guard let progress = progress.history(of: id) else { return }
        guard
            let state =
                try? core.write(
                    at: 0, { (isWanted: try $0.hasHistoryGoal(of: id), missing: try $0.missingMessages(of: id)) }
                )
                .value
        else {
            return
        }
        guard state.isWanted else {
            let isHere = ((try? core.read { try $0.conversationRecord(id) }) ?? nil) != nil
            self.progress.historyEnded(of: id)
            return finishHistory(of: id, progress, isComplete: isHere)
        }
        let missing = state.missing
        let total = max(progress.total, missing)
        progress.update(completed: total - missing, total: total)
    }

    /// Stops fetching older messages. Fetched messages are kept.
    func endHistory(of id: ConversationID) {
        let progress = progress.historyEnded(of: id)
        _ = writeOrReconnect { store in try store.updateProgress(of: id) { $0.goal = nil } }
        if let progress { finishHistory(of: id, progress, isComplete: false) }
        proceed()
    }

    private func finishHistory(of id: ConversationID, _ progress: TransferProgress, isComplete: Bool) {
        progress.finish(isComplete: isComplete)
        self.progress.measure { $0.historyFetched(of: id) }
        dependencies.publish(.conversationSyncFinished(id))
    }
}
