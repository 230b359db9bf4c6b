// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
import Metrics
import NIOCore
import ServiceLifecycle
import StrataModel
import StrataWire

/// A store for the bytes of rich content (docs/conformance.md §8): files, or objects in an S3-compatible store.
///
/// Content never changes once it is written. Each content has one upload at a time: a later upload cancels an earlier
/// one and discards its bytes. So concurrent uploads to one URL stay within the room that its quota counts.
protocol ContentStore: Sendable {
    /// Stores exactly `size` bytes, durably when it returns. After an error no incomplete content remains.
    /// - Parameters:
    ///   - type: the MIME type, returned with the content.
    ///   - bytes: the bytes, read as fast as they are stored, until they exceed `size`.
    func write<Bytes: AsyncSequence & Sendable>(
        _ id: ContentID, type: String, size: Int, from bytes: Bytes
    ) async throws(ContentStoreError) where Bytes.Element == ByteBuffer

    /// Returns the maximum number of bytes that ``write(_:type:size:from:)`` holds in memory for one upload.
    /// - Parameter size: the size of the content.
    func bufferedBytes(of size: Int) -> Int

    /// Returns a URL by which a client reads the content from the store itself.
    /// - Parameters:
    ///   - isHead: true for a `HEAD` request, false for `GET`.
    ///   - expiresAt: the time at which the URL stops working.
    /// - Returns: nil if clients read all content through the gateway.
    func directURL(of id: ContentID, isHead: Bool, until expiresAt: Timestamp) -> String?

    /// - Returns: nil if the content does not exist or is incomplete.
    func open(_ id: ContentID) async throws(ContentStoreError) -> (any ContentReader)?

    /// Removes the content, if it exists. Readers that have opened it can continue.
    func remove(_ id: ContentID) async throws(ContentStoreError)

    /// Removes the bytes of uploads that crashed gateways left more than a day ago.
    /// - Returns: the number of removed uploads.
    func removeLeftovers() async throws(ContentStoreError) -> Int

    /// - Returns: the capacity of the store; nil if it has no known limits.
    func room() async throws(ContentStoreError) -> ContentRoom?
}

/// The capacity of a content store.
struct ContentRoom: Equatable {
    let freeBytes: Int
    /// The total number of bytes, including those used by other data.
    let bytes: Int
    /// The number of files that can still be created; nil if it is not limited.
    let freeFiles: Int?
    /// The total number of files; nil if it is not limited.
    let files: Int?
}

/// A reader of complete content. It is closed with its last reference.
protocol ContentReader: Sendable {
    var type: String { get }
    /// The size of the content, in bytes.
    var size: Int { get }
    func pieces(of range: Range<Int>) -> any ContentPieces
}

/// The bytes of a range of content, in order.
protocol ContentPieces {
    /// Reads the next piece.
    /// - Returns: nil at the end of the range.
    /// - Throws: ``ContentStoreError``; `CancellationError`.
    mutating func next() async throws -> ByteBuffer?
}

enum ContentStoreError: Error, Hashable {
    /// The number of bytes differs from the announced size.
    case wrongLength
    /// The bytes ended with an error.
    case brokenOff
    case superseded
    /// The store is full. The text names the exhausted limit.
    case full(String)
    /// Any other failure. The text names the operation and its error.
    case failed(String)
}

/// The rich content of a gateway: its store, and the URLs for uploads and downloads.
struct RichContent: Sendable {
    let store: any ContentStore
    let tokens: ContentTokens
    /// The public base of all URLs, without a trailing slash.
    let baseURL: String

    init(store: any ContentStore, settings: GatewaySettings) {
        self.store = store
        tokens = ContentTokens(clusterSecret: settings.clusterSecret)
        baseURL = settings.publicURL
    }

    /// Returns a temporary download URL for any client.
    func location(of id: ContentID) -> ContentLocation {
        let (token, expiresAt) = tokens.issueDownload(of: id, at: .now())
        return ContentLocation(downloadURL: "\(baseURL)/content/downloads/\(token)", expiration: expiresAt)
    }

    func uploadURL(for upload: ContentTokens.Upload) -> String {
        "\(baseURL)/content/uploads/\(tokens.issue(upload, at: .now()))"
    }
}

extension ContentStoreError {
    /// Returns the failure for the client, and logs the errors that concern the operator.
    func failure(logger: Logger) -> Failure {
        switch self {
        case .wrongLength: return Failure(.invalidRequest, "The body does not have the announced number of bytes.")
        case .brokenOff: return Failure(.invalidRequest, "The body ended too early.")
        case .superseded: return Failure(.invalidRequest, "Another upload to the same URL has begun.")
        case .full(let reason):
            logger.error("content store is full", metadata: ["error.message": "\(reason)"])
            return .unavailable
        case .failed(let reason):
            logger.error("content store cannot be read or written", metadata: ["error.message": "\(reason)"])
            return .unavailable
        }
    }
}

/// A service that publishes the free space of the content store as metrics, so that an operator is warned before
/// uploads fail. An object store has no known limits; it is only asked whether it answers.
struct ContentRoomWatch: Service {
    let store: any ContentStore
    let logger: Logger

    private let freeBytes = Gauge(label: "strata_gateway_content_free_bytes")
    private let bytes = Gauge(label: "strata_gateway_content_size_bytes")
    private let freeFiles = Gauge(label: "strata_gateway_content_free_files")
    private let files = Gauge(label: "strata_gateway_content_files_limit")

    private static let pause = Duration.seconds(15)

    init(store: any ContentStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Records the metrics until the service stops. A failed reading leaves them unchanged. It is logged once, until
    /// a reading succeeds or fails in another way.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var failure: ContentStoreError?
            repeat {
                do throws(ContentStoreError) {
                    if let room = try await store.room() { record(room) }
                    failure = nil
                } catch {
                    if error != failure { _ = error.failure(logger: logger) }
                    failure = error
                }
            } while (try? await Task.sleep(for: Self.pause)) != nil
        }
    }

    private func record(_ room: ContentRoom) {
        freeBytes.record(room.freeBytes)
        bytes.record(room.bytes)
        freeFiles.record(room.freeFiles ?? 0)
        files.record(room.files ?? 0)
    }
}
