// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import StrataModel
import StrataWire

/// The checks on a JSON body before it is read.
enum RequestBody {
    /// The maximum size of a body, in bytes.
    static let bytes = 1 << 20
    static let tooLarge = Failure(.invalidRequest, "The body is larger than \(bytes) bytes.")
    /// The refusal of a compressed body. A small body that expands to a large one could exhaust the memory of this
    /// process.
    static let isEncoded = Failure(.invalidRequest, "A body must not be compressed, or encoded in another way.")

    /// Checks the headers that describe the body.
    /// - Throws: ``tooLarge`` or ``isEncoded``.
    static func check(_ headers: HTTPFields) throws(Failure) {
        if let length = headers[.contentLength], Int(length).map({ $0 > Self.bytes }) ?? true { throw tooLarge }
        let encodings = headers[values: .contentEncoding].flatMap { $0.split(separator: ",") }
        guard encodings.allSatisfy({ $0.filter { $0 != " " }.lowercased() == "identity" }) else { throw isEncoded }
    }

    /// Returns the HTTP status of a failure. ``tooLarge`` and ``isEncoded`` have statuses of their own in HTTP; their
    /// error objects follow the protocol.
    static func status(of failure: Failure) -> HTTPResponse.Status {
        switch failure {
        case tooLarge: .contentTooLarge
        case isEncoded: .unsupportedMediaType
        default: HTTPResponse.Status(code: failure.code.status)
        }
    }
}

extension Request {
    /// Returns the body as JSON.
    /// - Throws: `invalid_request` if it is too large, compressed, or not JSON.
    func json(_ context: RESTContext) async throws(Failure) -> JSONValue {
        let body = try await collectedBody(context)
        guard body.readableBytes > 0 else { throw Failure(.invalidRequest, "The request needs a body.") }
        return try Self.parsed(body, context)
    }

    /// Parses a body. First reserves the memory for that until the request is answered.
    private static func parsed(_ body: ByteBuffer, _ context: RESTContext) throws(Failure) -> JSONValue {
        let parsedBytes: Int
        do throws(JSONError) {
            parsedBytes = try JSONReader.parsedBytes(of: body)
        } catch {
            throw error.failure
        }
        guard context.input?.reserve(parsedBytes) ?? true else { throw .unavailable }
        return try JSONReader.body(body)
    }

    /// Returns the body of a request that takes an object, as JSON. From an app's own server, `[]` is read as `{}`,
    /// because PHP writes an empty object as `[]`.
    /// - Throws: the errors of ``json(_:)``.
    func object(_ context: RESTContext) async throws(Failure) -> JSONValue {
        Self.object(try await json(context), from: context.sender)
    }

    /// Returns the body of a request that takes an object or no body.
    /// - Returns: nil if there is no body.
    func optionalObject(_ context: RESTContext) async throws(Failure) -> JSONValue? {
        let body = try await collectedBody(context)
        return body.readableBytes == 0 ? nil : Self.object(try Self.parsed(body, context), from: context.sender)
    }

    private static func object(_ json: JSONValue, from sender: RequestSender) -> JSONValue {
        sender != .client && json == .array([]) ? .object([]) : json
    }

    func collectedBody(_ context: RESTContext) async throws(Failure) -> ByteBuffer {
        try RequestBody.check(headers)
        let collected: ByteBuffer
        do {
            collected = try await body.collect(upTo: RequestBody.bytes)
        } catch is NIOTooManyBytesError {
            throw RequestBody.tooLarge
        } catch {
            throw Failure(.invalidRequest, "The body could not be read.")
        }
        // A truncated body ends like a complete one, so compare the lengths.
        if let length = headers[.contentLength], Int(length) != collected.readableBytes {
            throw Failure(.invalidRequest, "The body ended before its Content-Length.")
        }
        return collected
    }
}

/// The body of a request whose client waits for `100 Continue`. The client is asked to send the body when a route
/// begins to read it. A request that is refused before that is answered without reading its body.
struct AwaitedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let body: HummingbirdCore.RequestBody
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: HummingbirdCore.RequestBody.AsyncIterator
        /// The client's channel, until `100 Continue` has been triggered.
        var channel: (any Channel)?

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ByteBuffer? {
            channel?.triggerUserOutboundEvent(HTTPRules.BodyIsWanted(), promise: nil)
            channel = nil
            return try await base.next(isolation: actor)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator(), channel: channel) }
}

/// A body that is streamed to the content store. Its last bytes count as input, because the store collects them before
/// they are written.
struct StreamedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let body: HummingbirdCore.RequestBody
    /// The number of bytes that the store collects.
    let bufferedBytes: Int
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: HummingbirdCore.RequestBody.AsyncIterator
        let bufferedBytes: Int
        let channel: any Channel
        var held = 0

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ByteBuffer? {
            let written = held - bufferedBytes
            if written > 0 {
                channel.triggerUserOutboundEvent(RequestGuard.BodyTaken(bytes: written), promise: nil)
                held -= written
            }
            let part = try await base.next(isolation: actor)
            held += part?.readableBytes ?? 0
            return part
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: body.makeAsyncIterator(), bufferedBytes: bufferedBytes, channel: channel)
    }
}

extension Request {
    /// Returns the request with a body that triggers `100 Continue` when it is read, if the client expects that.
    func awaited(on channel: any Channel) -> Request {
        guard headers[.expect] != nil else { return self }
        var request = self
        request.body = HummingbirdCore.RequestBody(asyncSequence: AwaitedBody(body: body, channel: channel))
        return request
    }
}
