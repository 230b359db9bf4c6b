// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import StrataModel

/// A content store in a bucket that all gateways share.
///
/// | Size | Upload | One upload at a time |
/// |---|---|---|
/// | at most ``wholeBytes`` | collected, then one request | each is collected; the first one that is complete is kept |
/// | more | parts of ``partBytes`` | a later one aborts the earlier ones, also those of other gateways |
///
/// Only complete objects have a key. If the answer to a completed upload is lost, the object remains: a repeated upload
/// finds it, and ``ContentSweeper`` removes it if no message refers to it.
struct S3ContentStore: ContentStore, Service {
    /// The largest content that is uploaded in one request.
    static let wholeBytes = 16 << 20
    /// The size of all parts except the last one. Stores require equal sizes and at least 5 MB.
    static let partBytes = 8 << 20
    /// The largest content: stores accept 10,000 parts.
    static let largestBytes = 10_000 * partBytes
    /// The age of abandoned uploads.
    private static let leftoverAge = Duration.seconds(86_400)
    /// The seconds before its expiry at which a URL is signed: an hour more than the longest life of a download token,
    /// so that a store with a slow clock does not find the signature in the future.
    private static let signedBefore = 3 * 3600

    private let client: S3Client
    private let redirects: Bool

    /// - Parameter redirects: true if clients can read from the store itself.
    init(_ client: S3Client, redirects: Bool) {
        self.client = client
        self.redirects = redirects
    }

    /// Closes the connections when the gateway stops.
    func run() async throws {
        try? await gracefulShutdown()
        await client.shutDown()
    }

    func bufferedBytes(of size: Int) -> Int { size <= Self.wholeBytes ? size : Self.partBytes }

    func directURL(of id: ContentID, isHead: Bool, until expiresAt: Timestamp) -> String? {
        guard redirects else { return nil }
        return client.presignedURL(
            of: key(of: id), method: isHead ? .HEAD : .GET, lifetime: Self.signedBefore, until: expiresAt)
    }

    private func key(of id: ContentID) -> String { "\(client.location.prefix)\(id)" }

    // MARK: Writing

    func write<Bytes: AsyncSequence & Sendable>(
        _ id: ContentID, type: String, size: Int, from bytes: Bytes
    ) async throws(ContentStoreError) where Bytes.Element == ByteBuffer {
        var parts = PartReader(bytes.makeAsyncIterator())
        guard size > Self.wholeBytes else {
            let body = try await parts.next(size)
            try await parts.finish()
            return try await client.put(key(of: id), headers: Self.headers(type), body: body)
        }
        let upload = try await client.beginUpload(of: key(of: id), headers: Self.headers(type))
        do throws(ContentStoreError) {
            try await takeOver(upload, of: id)
            var tags: [String] = []
            for offset in stride(from: 0, to: size, by: Self.partBytes) {
                let part = try await parts.next(min(Self.partBytes, size - offset))
                tags.append(
                    try await client.putPart(tags.count + 1, of: upload, to: key(of: id), body: part))
            }
            try await parts.finish()
            try await client.complete(upload, of: key(of: id), tags: tags)
        } catch {
            try? await client.abort(upload, of: key(of: id))
            // The later upload may already be complete. Then the content exists.
            if error == .superseded, try await open(id) != nil { return }
            throw error
        }
    }

    /// Aborts the earlier uploads of a content.
    /// - Throws: `superseded` if there is a later one.
    private func takeOver(_ upload: String, of id: ContentID) async throws(ContentStoreError) {
        let all = try await client.uploads(withPrefix: key(of: id)).filter { $0.key == key(of: id) }
        let own = all.first { $0.id == upload }
        let others = all.filter { $0.id != upload }
        // An upload that is not listed was aborted.
        guard !others.contains(where: { other in own.map { $0 < other } ?? true }) else { throw .superseded }
        for other in others { try await client.abort(other.id, of: other.key) }
    }

    /// Returns the headers with which clients get the object. A browser does not run an attachment, which otherwise
    /// would have the origin of the bucket.
    private static func headers(_ type: String) -> [String: String] {
        [
            // Signed values have no repeated spaces.
            "content-type": type.split(separator: " ").joined(separator: " "), "content-disposition": "attachment",
            "cache-control": "private, max-age=3600",
        ]
    }

    // MARK: Reading and removing

    func open(_ id: ContentID) async throws(ContentStoreError) -> (any ContentReader)? {
        guard let (type, size) = try await client.head(key(of: id)) else { return nil }
        return S3ContentReader(client: client, key: key(of: id), type: type, size: size)
    }

    func remove(_ id: ContentID) async throws(ContentStoreError) { try await client.delete(key(of: id)) }

    func removeLeftovers() async throws(ContentStoreError) -> Int {
        let limit = Timestamp.now().advanced(by: .zero - Self.leftoverAge)
        let prefix = client.location.prefix
        // The bucket may have uploads of other programs.
        let old = try await client.uploads(withPrefix: prefix)
            .filter { $0.startedAt < limit && ContentID(parsing: $0.key.dropFirst(prefix.count)) != nil }
        for upload in old { try await client.abort(upload.id, of: upload.key) }
        return old.count
    }

    /// Asks the store whether it serves the bucket, so that its availability is known without uploads.
    func room() async throws(ContentStoreError) -> ContentRoom? {
        try await client.check()
        return nil
    }
}

private struct S3ContentReader: ContentReader {
    let client: S3Client
    let key: String
    let type: String
    let size: Int

    func pieces(of range: Range<Int>) -> any ContentPieces { S3Pieces(client, key: key, range: range) }
}

/// A reader that collects the bytes of an upload into parts of exact sizes.
private struct PartReader<Iterator: AsyncIteratorProtocol> where Iterator.Element == ByteBuffer {
    private var iterator: Iterator
    /// The bytes after the last part.
    private var rest = ByteBuffer()

    init(_ iterator: Iterator) { self.iterator = iterator }

    /// Returns the next `count` bytes.
    /// - Throws: `wrongLength` if there are fewer; `brokenOff` if they end with an error.
    mutating func next(_ count: Int) async throws(ContentStoreError) -> ByteBuffer {
        var part = ByteBuffer()
        part.reserveCapacity(count)
        while true {
            if let taken = rest.readSlice(length: min(count - part.readableBytes, rest.readableBytes)) {
                part.writeImmutableBuffer(taken)
            }
            if part.readableBytes == count { return part }
            guard let piece = try await more() else { throw .wrongLength }
            rest = piece
        }
    }

    /// Checks that no bytes follow.
    mutating func finish() async throws(ContentStoreError) {
        while rest.readableBytes == 0 {
            guard let piece = try await more() else { return }
            rest = piece
        }
        throw .wrongLength
    }

    private mutating func more() async throws(ContentStoreError) -> ByteBuffer? {
        do {
            return try await iterator.next(isolation: #isolation)
        } catch {
            throw .brokenOff
        }
    }
}
