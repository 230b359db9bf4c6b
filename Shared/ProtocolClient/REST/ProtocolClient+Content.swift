// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
public import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

/// Content goes to and comes from absolute URLs that the server gave out. They need no session, and are used as they are.
extension ProtocolClient {
    /// The time in which nothing may happen in a transfer before it is given up.
    public static let idleLimit: Duration = .seconds(30)
    private static let refusalBytes = 1 << 20

    /// Puts bytes to a URL, as fast as the server takes them.
    /// - Parameters:
    ///   - bytes: read once.
    ///   - count: how many bytes there are. With fewer or more, the upload fails.
    ///   - idle: the longest time without any progress; the whole upload may take as long as it needs.
    /// - Returns: whatever the server answered, refusals as well.
    /// - Throws: ``ProtocolClientError`` as ``call(_:_:body:token:headers:deadline:)``, and with ``ProtocolClientError/Code/invalidURL``; what `bytes` throws.
    public func upload<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes, count: Int, to url: String, headers: [String: String] = [:], idle: Duration = idleLimit
    ) async throws -> RESTAnswer where Bytes.Element == Data {
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

    /// Gets bytes from a URL.
    /// - Parameters:
    ///   - offset: of the first byte that is wanted. The server may send all bytes nevertheless.
    ///   - idle: the longest time without any progress; the whole download may take as long as it needs.
    ///   - receive: is given the offset of each piece and the piece, in order. The next one is read when it returns.
    /// - Returns: the answer, without the bytes that `receive` was given. Statuses other than 200 and 206 are refusals, of which nothing is given to `receive`.
    /// - Throws: ``ProtocolClientError`` as ``call(_:_:body:token:headers:deadline:)``, and with ``ProtocolClientError/Code/invalidURL`` or
    ///   ``ProtocolClientError/Code/malformed``; what `receive` throws.
    public func download(
        _ url: String, from offset: Int = 0, headers: [String: String] = [:], idle: Duration = idleLimit,
        receive: @escaping @Sendable (Int, Data) async throws -> Void
    ) async throws -> RESTAnswer {
        var request = try Self.request(url)
        if offset > 0 { request.headers.add(name: "Range", value: "bytes=\(offset)-") }
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        return try await transfer("the download", idle: idle) { [request] watch in
            let response = try await self.http.execute(request, deadline: .distantFuture)
            watch.touch()
            guard response.status == .ok || response.status == .partialContent else { return try await Self.answer(from: response, watchedBy: watch) }
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

    private static func firstOffset(of response: HTTPClientResponse, asked: Int) throws -> Int {
        guard response.status == .partialContent else { return 0 }
        let text = response.headers.first(name: "Content-Range") ?? ""
        guard text.hasPrefix("bytes "), let first = text.dropFirst(6).split(separator: "-").first.flatMap({ Int($0) }), first == asked else {
            throw ProtocolClientError(.malformed, "other bytes came than were asked for")
        }
        return first
    }

    private func answer(to request: HTTPClientRequest, watchedBy watch: IdleWatch) async throws -> RESTAnswer {
        let response = try await http.execute(request, deadline: .distantFuture)
        watch.touch()
        return try await Self.answer(from: response, watchedBy: watch)
    }

    private static func answer(from response: HTTPClientResponse, watchedBy watch: IdleWatch) async throws -> RESTAnswer {
        var body = Data()
        for try await piece in response.body where body.count < refusalBytes {
            watch.touch()
            body.append(contentsOf: piece.readableBytesView)
        }
        return answer(from: response, body: body)
    }

    private static func answer(from response: HTTPClientResponse, body: Data) -> RESTAnswer {
        let lines = response.headers.map { RESTAnswer.Header(name: $0.name, value: $0.value) }
        return RESTAnswer(status: Int(response.status.code), headers: lines, body: body)
    }

    /// Does a transfer until it is done, or nothing has happened in it for too long.
    private func transfer(
        _ what: String, idle: Duration, body: @escaping @Sendable (IdleWatch) async throws -> RESTAnswer
    ) async throws -> RESTAnswer {
        let watch = IdleWatch()
        do {
            return try await withThrowingTaskGroup(of: RESTAnswer?.self) { group in
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

/// Remembers when something has happened.
private final class IdleWatch: Sendable {
    private let last = Mutex(ContinuousClock.now)

    func touch() { last.withLock { $0 = .now } }

    /// Returns when nothing has happened for so long.
    func expire(after limit: Duration) async throws {
        while true {
            let end = last.withLock { $0 } + limit
            if end <= .now { return }
            try await Task.sleep(until: end, clock: .continuous)
        }
    }
}

/// What the owner of the bytes has thrown, which is no failure of the network.
private struct ReceiveError: Error {
    let error: any Error
}

/// What was thrown while the bytes of an upload were read; the HTTP client shows it as something else.
private final class ReadError: Sendable {
    private let state = Mutex<(any Error)?>(nil)
    var error: (any Error)? { state.withLock { $0 }.map { ReceiveError(error: $0) } }
    func recordFirst(_ error: any Error) { state.withLock { $0 = $0 ?? error } }
}

/// Bytes on their way to the HTTP client.
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
