// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Logging
import Metrics
import NIOCore
import NIOHTTP1
import NetKit
import StrataModel
import Synchronization

/// The time limits of requests to an object store.
struct S3Patience: Sendable {
    /// The maximum time until a connection is available.
    var connect = Duration.seconds(3)
    /// The maximum time until an answer begins, and between two pieces of it.
    var answer = Duration.seconds(10)
    /// The minimum speed of uploads to the store, in bytes a second. It extends ``answer``.
    var bytesPerSecond = 512 << 10
    /// The time after the first attempt in which a failed request is repeated. A store that is known to be away gets
    /// one attempt.
    var retries = Duration.seconds(10)
    /// The pauses between attempts.
    var backoff = Backoff(initial: .milliseconds(100), maximum: .seconds(2))
}

/// A client of a bucket in an S3-compatible store. It signs requests, and repeats those whose failure may pass.
final class S3Client: Sendable {
    struct Request: Sendable {
        /// The name of the operation in errors.
        let operation: String
        let method: HTTPMethod
        /// The key of the object; nil for the bucket.
        var key: String?
        var query: [String: String] = [:]
        /// The headers, with lower-case names.
        var headers: [String: String] = [:]
        var body = ByteBuffer()
    }

    let location: S3Location
    private let signature: AWSSignature
    let patience: S3Patience
    private let availability: Availability
    /// True from a denial, or a failure of all attempts of a request, to the next success.
    private let isAway = Atomic(false)
    private let requests: LazyHTTPClient
    /// The connections of downloads through this process. Slow readers can occupy all of them.
    let downloads: LazyHTTPClient
    private let retries = Counter(label: "strata_gateway_content_store_retries_total")

    init(_ settings: S3Settings, patience: S3Patience = S3Patience(), group: any EventLoopGroup, logger: Logger) {
        location = settings.location
        signature = AWSSignature(
            accessKey: settings.accessKey, secretKey: settings.secretKey, region: settings.region)
        self.patience = patience
        requests = LazyHTTPClient(settings, patience: patience, connections: 64, group: group)
        downloads = LazyHTTPClient(settings, patience: patience, connections: 256, group: group)
        let gauge = Gauge(label: "strata_process_dependency_up", dimensions: [("dependency", "content")])
        availability = Availability(
            failureMessage: "content store is unavailable", recoveryMessage: "content store is available again",
            logger: logger
        ) { gauge.record($0 ? 1 : 0) }
    }

    /// Closes all connections. Later requests fail.
    func shutDown() async {
        await requests.shutDown()
        await downloads.shutDown()
    }

    /// Returns a URL that permits one kind of request until a time.
    /// - Parameter lifetime: the seconds between signing and `expiresAt`. The same arguments give the same URL.
    func presignedURL(of key: String, method: HTTPMethod, lifetime: Int, until expiresAt: Timestamp) -> String {
        let path = location.path(of: key)
        let request = AWSSignature.Request(method: method.rawValue, host: location.host, path: path)
        let query = signature.presignedQuery(
            for: request, lifetime: lifetime, at: expiresAt.advanced(by: .seconds(-lifetime)))
        return location.url(path, query: query)
    }

    // MARK: Requests

    /// Sends a request, and repeats it while its failure may pass. Task cancellation does not interrupt it.
    /// - Returns: the store's answer, which may be a refusal.
    func send(_ request: Request) async throws(ContentStoreError) -> S3Answer {
        try await Task { await self.repeating(request) }.value.get()
    }

    private func repeating(_ request: Request) async -> Result<S3Answer, ContentStoreError> {
        let payloadHash = AWSSignature.hash(request.body.readableBytesView)
        var attempts = S3Attempts(patience)
        while true {
            let failure: any Error
            do {
                let answer = try await attempt(request, payloadHash: payloadHash)
                guard answer.mayPass else {
                    if answer.isSuccess { report(true) }
                    if answer.isDenied { report(false) }
                    return .success(answer)
                }
                failure = answer.error(request.operation)
            } catch {
                failure = error
            }
            guard await pause(&attempts, after: failure) else {
                return .failure(failure as? ContentStoreError ?? .failed("\(request.operation): \(failure)"))
            }
        }
    }

    private func attempt(_ request: Request, payloadHash: String) async throws -> S3Answer {
        var message = message(for: request, payloadHash: payloadHash)
        let bytes = request.body.readableBytes
        if bytes > 0 { message.body = .stream(BufferPieces(buffer: request.body), length: .known(Int64(bytes))) }
        let limit = patience.answer + .seconds(1) * bytes / patience.bytesPerSecond
        let response = try await requests.client().execute(message, deadline: .now() + limit.timeAmount)
        return try await S3Answer(response)
    }

    func message(for request: Request, payloadHash: String) -> HTTPClientRequest {
        let path = request.key.map { location.path(of: $0) } ?? location.bucketPath
        let signed = AWSSignature.Request(
            method: request.method.rawValue, host: location.host, path: path, query: request.query,
            headers: request.headers)
        var message = HTTPClientRequest(url: location.url(path, query: AWSSignature.encoded(request.query)))
        message.method = request.method
        message.headers.add(name: "host", value: location.host)
        for (name, value) in signature.headers(for: signed, payloadHash: payloadHash, at: .now()) {
            message.headers.add(name: name, value: value)
        }
        return message
    }

    /// Waits before the next attempt. Returns false if there is no time for one; then the store counts as unavailable.
    func pause(_ attempts: inout S3Attempts, after failure: any Error) async -> Bool {
        guard !isAway.load(ordering: .relaxed), let pause = attempts.next(at: .now) else {
            // A lack of connections says nothing about the store.
            if failure as? HTTPClientError != .getConnectionFromPoolTimeout { report(false) }
            return false
        }
        retries.increment()
        return (try? await Task.sleep(for: pause)) != nil
    }

    func report(_ works: Bool) {
        isAway.store(!works, ordering: .relaxed)
        availability.update(works)
        if !works { availability.failed() }
    }
}

/// The schedule of the attempts of one request.
struct S3Attempts {
    private let end: ContinuousClock.Instant
    private var backoff: Backoff

    init(_ patience: S3Patience) {
        end = .now + patience.retries
        backoff = patience.backoff
    }

    /// Returns the pause before the next attempt; nil if it would begin too late.
    mutating func next(at now: ContinuousClock.Instant) -> Duration? {
        let pause = backoff.next()
        return now + pause < end ? pause : nil
    }
}

/// The pieces in which a buffer is sent. A single large write would hide whether the store takes bytes.
private struct BufferPieces: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let buffer: ByteBuffer

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ByteBuffer

        mutating func next() async -> ByteBuffer? {
            rest.readableBytes == 0 ? nil : rest.readSlice(length: Swift.min(64 << 10, rest.readableBytes))
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: buffer) }
}
