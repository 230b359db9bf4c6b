// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The progress that the app of one engine follows: of the synchronization, and of the fetches of older messages.
struct EngineProgress {
    /// Nil: there is no synchronization.
    private var sync: (progress: TransferProgress, meter: SyncMeter)?
    private var histories: [ConversationID: TransferProgress] = [:]

    // MARK: The synchronization

    mutating func syncBegan() -> TransferProgress {
        let progress = TransferProgress(unit: .conversations)
        sync = (progress, SyncMeter())
        return progress
    }

    mutating func syncFinished() { sync.take()?.progress.finish(isComplete: true) }

    mutating func measure(_ change: (inout SyncMeter) -> Void) {
        guard var meter = sync?.meter else { return }
        change(&meter)
        sync?.meter = meter
        sync?.progress.update(completed: meter.completed, total: meter.total)
    }

    // MARK: Older messages

    var fetched: [ConversationID] { Array(histories.keys) }

    /// Nil: the app knows of no fetch.
    func history(of id: ConversationID) -> TransferProgress? { histories[id] }

    mutating func historyBegan(of id: ConversationID, _ progress: TransferProgress) { histories[id] = progress }

    /// - Returns: the progress that the app follows.
    @discardableResult
    mutating func historyEnded(of id: ConversationID) -> TransferProgress? { histories.removeValue(forKey: id) }

    // MARK: The end

    /// The engine is gone: nothing goes on.
    func abandon() {
        sync?.progress.finish(isComplete: false)
        for progress in histories.values { progress.finish(isComplete: false) }
    }
}
