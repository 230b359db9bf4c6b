// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

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

/// A body that is streamed to the content store. Its last ``FileContentStore/writeBytes`` count as input, because they
/// are collected before they are written.
struct StreamedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let body: HummingbirdCore.RequestBody
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: HummingbirdCore.RequestBody.AsyncIterator
        let channel: any Channel
        private var held = 0

        init(base: HummingbirdCore.RequestBody.AsyncIterator, channel: any Channel) {
            self.base = base
            self.channel = channel
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ByteBuffer? {
            let written = held - FileContentStore.writeBytes
            if written > 0 {
                channel.triggerUserOutboundEvent(RequestGuard.BodyTaken(bytes: written), promise: nil)
                held -= written
            }
            let part = try await base.next(isolation: actor)
            held += part?.readableBytes ?? 0
            return part
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator(), channel: channel) }
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
