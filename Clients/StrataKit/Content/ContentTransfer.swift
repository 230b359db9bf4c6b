// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Synchronization

/// An upload of a file in the ``ContentFolder``.
struct ContentUpload: Hashable, Sendable {
    let part: UUID
    /// The idempotency key of the upload.
    let name: UUID
    /// The name of the file; see ``ContentFolder/stage(_:id:)``.
    let file: String
    let mimeType: String
    let size: Int
}

struct ContentDownload: Hashable, Sendable {
    let id: ContentID
    let mimeType: String
    /// The size in bytes according to the message.
    let size: Int
    /// The download URL in the message; nil: request one from the server.
    var url: String?
    /// The expiry of ``url``; nil if unknown.
    var expires: Date?
}

struct ContentTransfer: Sendable {
    let server: any ContentServer
    let folder: ContentFolder
    let progress: TransferProgress
    /// Returns the device's time, which decides whether a URL has expired.
    var now: @Sendable () -> Date = { Date() }

    // MARK: Uploads

    /// Uploads the file.
    /// - Returns: the id that the server assigned to the content. Repeated uploads of a part return the same id.
    func upload(_ upload: ContentUpload) async throws -> ContentID {
        let (folder, file) = (folder, folder.file(upload.file))
        let size = try await ContentFolder.runBlocking { folder.size(of: file) }
        guard size == upload.size else {
            throw StrataError(
                .devicePersistenceFailure,
                "the file \(upload.file), which is to be uploaded, is not there or has another size")
        }
        let location = try await server.announce(mimeType: upload.mimeType, size: upload.size, name: upload.name)
        guard let url = location.uploadURL else {
            throw StrataError(.synchronizationFailure, "the server gave no URL for an upload")
        }
        try await server.upload(file, size: upload.size, mimeType: upload.mimeType, to: url) { [progress] in
            progress.update(completed: $0)
        }
        return location.id
    }

    // MARK: Downloads

    /// Downloads the missing bytes of the content.
    /// - Returns: the name of the complete file.
    func download(_ download: ContentDownload) async throws -> String {
        let folder = folder
        let name = ContentFolder.name(of: download.id, mimeType: download.mimeType)
        if try await ContentFolder.runBlocking({ folder.size(of: folder.file(name)) }) != nil { return name }
        let (file, size) = try await PartialFile.open(folder.partialFile(of: download.id))
        var place = Place(file: file, size: size, expected: download.size)
        do {
            try await fill(&place, from: download)
        } catch {
            try? await file.close()
            throw error
        }
        try await file.close()
        try await ContentFolder.runBlocking { try folder.complete(file.url, as: name) }
        return name
    }

    private struct Place {
        let file: PartialFile
        var size: Int
        var expected: Int
    }

    /// Downloads the missing bytes: from the URL in the message, otherwise from a new URL.
    private func fill(_ place: inout Place, from download: ContentDownload) async throws {
        if try await tryGivenURL(of: download, into: &place) { return }
        let location = try await server.locate(download.id)
        guard let url = location.downloadURL else {
            throw StrataError(.synchronizationFailure, "the server does not have the bytes of this content")
        }
        // The sender's size may be wrong. The server's size is authoritative, because it has counted the bytes.
        place.expected = location.size
        for _ in 0..<2 {
            if try await reset(&place) { return }
            switch try await get(url, into: &place) {
            case .complete where place.size == place.expected: return
            case .complete:
                throw RequestFailure.transient(
                    .network("the download ended after \(place.size) bytes of \(place.expected)"), retryAfter: nil)
            case .beyondEnd: try await empty(&place)
            case .refused:
                throw RequestFailure.transient(
                    .network("the server refused a download URL that is new"), retryAfter: nil)
            }
        }
        throw RequestFailure.transient(.network("the server has fewer bytes than it said"), retryAfter: nil)
    }

    /// Tries the URL in the message. This device may be unable to reach its address. A temporary failure before the
    /// first byte is therefore not an error: the caller requests another URL.
    /// - Returns: true if the file is complete.
    private func tryGivenURL(of download: ContentDownload, into place: inout Place) async throws -> Bool {
        guard let url = download.url, download.expires.map({ $0 > now() }) ?? true else { return false }
        if try await reset(&place) { return true }
        let before = place.size
        do {
            let end = try await get(url, into: &place)
            return end == .complete && place.size == place.expected
        } catch let failure as RequestFailure {
            guard place.size == before, case .transient = failure else { throw failure }
            return false
        }
    }

    /// Prepares the file for a download. A file that is larger than expected is emptied.
    /// - Returns: true if the file is already complete.
    private func reset(_ place: inout Place) async throws -> Bool {
        if place.size > place.expected { try await empty(&place) }
        progress.update(completed: place.size)
        return place.size == place.expected && place.expected > 0
    }

    private func empty(_ place: inout Place) async throws {
        try await place.file.truncate(to: 0)
        place.size = 0
    }

    /// Downloads the bytes that follow those in the file.
    /// - Returns: the way in which the download ended.
    /// - Throws: a transient failure if the server sends more bytes than expected.
    private func get(_ url: String, into place: inout Place) async throws -> DownloadEnd {
        let written = WrittenBytes(place.size)
        defer { place.size = written.count }
        return try await server.download(url, from: place.size) {
            [file = place.file, expected = place.expected, progress] offset, data in
            guard offset + data.count <= expected else {
                throw RequestFailure.transient(
                    .network("the server sent more bytes than the content has"), retryAfter: nil)
            }
            try await file.write(data, at: offset)
            written.set(offset + data.count)
            progress.update(completed: offset + data.count)
        }
    }
}

/// A thread-safe counter of written bytes, shared with the closure that writes them.
final class WrittenBytes: Sendable {
    private let state: Mutex<Int>

    init(_ count: Int) { state = Mutex(count) }

    var count: Int { state.withLock { $0 } }

    func set(_ count: Int) { state.withLock { $0 = count } }
}
