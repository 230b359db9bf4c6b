// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
public import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

/// The transfer of content to and from absolute URLs that the server provides. The URLs need no session and are used
/// unchanged.
extension ProtocolClient {
    /// The default time without progress after which a transfer is abandoned.
    public static let idleLimit: Duration = .seconds(30)
    private static let refusalBytes = 1 << 20

    /// Uploads bytes to a URL, as fast as the server accepts them.
    /// - Parameters:
    ///   - bytes: the content, iterated once.
    ///   - count: the number of bytes. The upload fails if `bytes` contains fewer or more.
    ///   - idle: the maximum time without progress. The duration of the whole upload is not limited.
    /// - Returns: the server's response, which may be a refusal.
    /// - Throws: ``ProtocolClientError`` like ``call(_:_:body:token:headers:deadline:)``, also with
    ///   ``ProtocolClientError/Code/invalidURL``; any error of `bytes`.
    public func upload<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes, count: Int, to url: String, headers: [String: String] = [:], idle: Duration = idleLimit
    ) async throws -> RESTResponse where Bytes.Element == Data {
        var request = try Self.request(url)
        request.method = .PUT
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        let read = ReadError()
        return try await transfer("the upload", idle: idle) { [request] watch in
            var request = request
            let body = WatchedBytes(bytes: bytes, watch: watch, read: read)
            request.body = .stream(body, length: .known(Int64(count)))
            do {
                return try await self.answer(to: request, watchedBy: watch)
            } catch {
                throw read.error ?? error
            }
        }
    }

    /// Downloads bytes from a URL. The server may refer to an object store, which is then asked for the same bytes.
    /// - Parameters:
    ///   - offset: the offset of the first requested byte. The server may send all bytes regardless.
    ///   - idle: the maximum time without progress. The duration of the whole download is not limited.
    ///   - receive: receives each piece with its offset, in order. The next piece is read after it returns.
    /// - Returns: the response without the bytes passed to `receive`. Statuses other than 200 and 206 are refusals,
    ///   whose body is not passed to `receive`.
    /// - Throws: ``ProtocolClientError`` like ``call(_:_:body:token:headers:deadline:)``, also with
    ///   ``ProtocolClientError/Code/invalidURL`` or ``ProtocolClientError/Code/malformed``; any error of `receive`.
    public func download(
        _ url: String, from offset: Int = 0, headers: [String: String] = [:], idle: Duration = idleLimit,
        receive: @escaping @Sendable (Int, Data) async throws -> Void
    ) async throws -> RESTResponse {
        var request = try Self.request(url)
        if offset > 0 { request.headers.add(name: "Range", value: "bytes=\(offset)-") }
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        return try await transfer("the download", idle: idle) { [request] watch in
            var response = try await self.http.execute(request, deadline: .distantFuture)
            watch.touch()
            if let next = Self.redirected(request, by: response) {
                response = try await self.http.execute(next, deadline: .distantFuture)
                watch.touch()
            }
            guard response.status == .ok || response.status == .partialContent else {
                return try await Self.answer(from: response, watchedBy: watch)
            }
            var place = try Self.firstOffset(of: response, asked: offset)
            for try await piece in response.body {
                watch.touch()
                do {
                    try await receive(place, Data(piece.readableBytesView))
                } catch {
                    throw ReceiveError(error: error)
                }
                place += piece.readableBytes
                watch.touch()
            }
            return Self.answer(from: response, body: Data())
        }
    }

    private static func request(_ url: String) throws -> HTTPClientRequest {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw ProtocolClientError(.invalidURL, "the URL of content must begin with http:// or https://")
        }
        return HTTPClientRequest(url: url)
    }

    /// Returns the request at the location that the server refers to; nil if it refers to none.
    private static func redirected(
        _ request: HTTPClientRequest, by response: HTTPClientResponse
    ) -> HTTPClientRequest? {
        guard response.status == .temporaryRedirect, let url = response.headers.first(name: "Location"),
            var next = try? Self.request(url)
        else { return nil }
        next.headers = request.headers
        return next
    }

    private static func firstOffset(of response: HTTPClientResponse, asked: Int) throws -> Int {
        guard response.status == .partialContent else { return 0 }
        let text = response.headers.first(name: "Content-Range") ?? ""
        guard text.hasPrefix("bytes "), let first = text.dropFirst(6).split(separator: "-").first.flatMap({ Int($0) }),
            first == asked
        else {
            throw ProtocolClientError(.malformed, "the server sent other bytes than were requested")
        }
        return first
    }

    private func answer(to request: HTTPClientRequest, watchedBy watch: IdleWatch) async throws -> RESTResponse {
        let response = try await http.execute(request, deadline: .distantFuture)
        watch.touch()
        return try await Self.answer(from: response, watchedBy: watch)
    }

    private static func answer(
        from response: HTTPClientResponse, watchedBy watch: IdleWatch
    ) async throws -> RESTResponse {
        var body = Data()
        for try await piece in response.body where body.count < refusalBytes {
            watch.touch()
            body.append(contentsOf: piece.readableBytesView)
        }
        return answer(from: response, body: body)
    }

    private static func answer(from response: HTTPClientResponse, body: Data) -> RESTResponse {
        let lines = response.headers.map { RESTResponse.Header(name: $0.name, value: $0.value) }
        return RESTResponse(status: Int(response.status.code), headers: lines, body: body)
    }

    /// Runs a transfer until it ends, or until it makes no progress for the time `idle`.
    private func transfer(
        _ what: String, idle: Duration, body: @escaping @Sendable (IdleWatch) async throws -> RESTResponse
    ) async throws -> RESTResponse {
        let watch = IdleWatch()
        do {
            return try await withThrowingTaskGroup(of: RESTResponse?.self) { group in
                group.addTask { try await body(watch) }
                group.addTask {
                    try await watch.expire(after: idle)
                    return nil
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() ?? nil else {
                    throw ProtocolClientError(.deadlineExceeded, "nothing has happened in \(what) for \(idle)")
                }
                return answer
            }
        } catch let error as ReceiveError {
            throw error.error
        } catch {
            throw Self.failure(error, of: what)
        }
    }
}

/// A timer that measures the time since the last progress.
private final class IdleWatch: Sendable {
    private let last = Mutex(ContinuousClock.now)

    func touch() { last.withLock { $0 = .now } }

    /// Returns after the time `limit` without progress.
    func expire(after limit: Duration) async throws {
        while true {
            let end = last.withLock { $0 } + limit
            if end <= .now { return }
            try await Task.sleep(until: end, clock: .continuous)
        }
    }
}

/// An error of the caller's `receive` or `bytes`, as opposed to a network failure.
private struct ReceiveError: Error {
    let error: any Error
}

/// The first error thrown by the bytes of an upload. The HTTP client reports it as a different error.
private final class ReadError: Sendable {
    private let state = Mutex<(any Error)?>(nil)
    var error: (any Error)? { state.withLock { $0 }.map { ReceiveError(error: $0) } }
    func recordFirst(_ error: any Error) { state.withLock { $0 = $0 ?? error } }
}

/// The bytes of an upload, as a sequence for the HTTP client.
private struct WatchedBytes<Bytes: AsyncSequence & Sendable>: AsyncSequence, Sendable where Bytes.Element == Data {
    typealias Element = ByteBuffer

    let bytes: Bytes
    let watch: IdleWatch
    let read: ReadError

    func makeAsyncIterator() -> Iterator { Iterator(bytes: bytes.makeAsyncIterator(), watch: watch, read: read) }

    struct Iterator: AsyncIteratorProtocol {
        var bytes: Bytes.AsyncIterator
        let watch: IdleWatch
        let read: ReadError

        mutating func next() async throws -> ByteBuffer? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> ByteBuffer? {
            watch.touch()
            do {
                return try await bytes.next(isolation: actor).map { ByteBuffer(bytes: $0) }
            } catch {
                read.recordFirst(error)
                throw error
            }
        }
    }
}
