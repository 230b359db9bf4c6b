// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The progress objects of one engine: for the synchronization, and for fetches of older messages.
struct EngineProgress {
    private var sync: (progress: TransferProgress, meter: SyncMeter)?
    private var histories: [ConversationID: TransferProgress] = [:]

    // MARK: The synchronization

    mutating func syncBegan() -> TransferProgress {
        let progress = TransferProgress(unit: .conversations)
        sync = (progress, SyncMeter())
        return progress
    }

    mutating func syncFinished() { sync.take()?.progress.finish(isComplete: true) }

    /// Changes the meter and publishes its values. Has no effect while no synchronization is in progress.
    mutating func measure(_ change: (inout SyncMeter) -> Void) {
        guard var meter = sync?.meter else { return }
        change(&meter)
        sync?.meter = meter
        sync?.progress.update(completed: meter.completed, total: meter.total)
    }

    // MARK: Older messages

    /// The conversations whose older messages are being fetched.
    var fetching: [ConversationID] { Array(histories.keys) }

    /// Returns the progress of a fetch; nil if the app has not been informed of one.
    func history(of id: ConversationID) -> TransferProgress? { histories[id] }

    /// Adds a fetch, of whose progress the app has been informed.
    mutating func historyBegan(of id: ConversationID, _ progress: TransferProgress) { histories[id] = progress }

    /// Removes a fetch. The caller finishes its progress.
    @discardableResult
    mutating func historyEnded(of id: ConversationID) -> TransferProgress? { histories.removeValue(forKey: id) }

    // MARK: The end

    /// Ends all progress as incomplete, because the engine was released.
    func abandon() {
        sync?.progress.finish(isComplete: false)
        for progress in histories.values { progress.finish(isComplete: false) }
    }
}
