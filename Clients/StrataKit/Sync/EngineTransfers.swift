// SPDX-License-Identifier: Apache-2.0
import Foundation
import NetKit
import StrataModel

/// The content transfers of one engine: the running transfers, their parts, and the failed downloads.
struct EngineTransfers {
    /// The transfers; nil unless the engine is running.
    private(set) var running: ContentTransfers?
    /// The events of running transfers, for the engine to handle in order.
    let events = Mailbox<ContentTransferEvent>()
    /// The message parts that each running transfer moves. Several parts can have the same content.
    private var parts: [TransferID: [PartTransfer]] = [:]
    /// The operations whose parts are being uploaded, by part id.
    private(set) var uploads: [UUID: UUID] = [:]
    /// Content whose download failed or was cancelled. It is downloaded again only on request of the app.
    private(set) var failedDownloads: Set<ContentID> = []

    // MARK: Runs

    mutating func started(_ transfers: ContentTransfers?) {
        running = transfers
        failedDownloads = []
    }

    mutating func stopped() { running = nil }

    // MARK: Transfers

    mutating func began(_ id: TransferID, parts: [PartTransfer]) { self.parts[id] = parts }

    /// Removes a transfer.
    /// - Returns: the parts with their state at the start of the transfer.
    mutating func ended(_ id: TransferID) -> [PartTransfer] { parts.removeValue(forKey: id) ?? [] }

    func progress(of id: TransferID) -> TransferProgress? { parts[id]?.first?.progress }

    // MARK: Uploads

    mutating func uploadBegan(_ parts: [PartRecord], of operation: UUID) {
        for part in parts { uploads[part.id] = operation }
    }

    mutating func uploadEnded(_ parts: [PartRecord]) { for part in parts { uploads[part.id] = nil } }

    // MARK: Downloads

    mutating func downloadFailed(_ content: ContentID) { failedDownloads.insert(content) }

    /// Permits downloads of the content again, because the app has requested it.
    mutating func requested(_ content: ContentID) { failedDownloads.remove(content) }
}
