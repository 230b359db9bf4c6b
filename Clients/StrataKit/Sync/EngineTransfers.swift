// SPDX-License-Identifier: Apache-2.0
import Foundation
import NetKit
import StrataModel

/// The content that one engine uploads and downloads: what carries the transfers out, which parts they are for, and which downloads have failed.
struct EngineTransfers {
    /// Carries them out. There is one while the engine runs.
    private(set) var running: ContentTransfers?
    /// What has happened to them, in order.
    let events = Mailbox<ContentTransferEvent>()
    private var parts: [TransferID: [PartTransfer]] = [:]
    /// The changes whose parts are being uploaded, by the ids of the parts.
    private(set) var uploads: [UUID: UUID] = [:]
    /// Content whose download failed or was cancelled. It is downloaded again only when the app asks.
    private(set) var failedDownloads: Set<ContentID> = []

    // MARK: Runs

    mutating func started(_ transfers: ContentTransfers?) {
        running = transfers
        failedDownloads = []
    }

    mutating func stopped() { running = nil }

    // MARK: Transfers

    mutating func began(_ id: TransferID, parts: [PartTransfer]) { self.parts[id] = parts }

    /// - Returns: the parts as they were when the transfer began.
    mutating func ended(_ id: TransferID) -> [PartTransfer] { parts.removeValue(forKey: id) ?? [] }

    /// Nil: there is no such transfer.
    func progress(of id: TransferID) -> TransferProgress? { parts[id]?.first?.progress }

    // MARK: Uploads

    mutating func uploadBegan(_ parts: [PartRecord], of operation: UUID) { for part in parts { uploads[part.id] = operation } }

    mutating func uploadEnded(_ parts: [PartRecord]) { for part in parts { uploads[part.id] = nil } }

    // MARK: Downloads

    mutating func downloadFailed(_ content: ContentID) { failedDownloads.insert(content) }

    mutating func requested(_ content: ContentID) { failedDownloads.remove(content) }
}
