// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Model
import NIOCore
import RPC
import Wire

/// What the routes know of one request.
struct RESTContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Of the whole request, across all services.
    let trace: TraceID
    /// The connection it came on.
    let channel: any Channel
    /// The protocol version asked for; set before a route that needs it runs.
    var version = WireVersion.v3
    /// Whose request it is; set before a route that needs it runs.
    var session: Session?
    /// What its answer holds, from what services answered to the last byte; set before a route runs.
    var lease: AnswerBudget.Lease?
    /// Whose turn it is; set before a route runs.
    var longAnswers: LongAnswers?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        trace = .random()
        channel = source.channel
    }

    /// A call to a service on behalf of the request's user.
    func call() throws(Failure) -> GatewayServices.Call {
        guard let session else { throw Failure(.authenticationRequired, "Please sign in.") }
        return GatewayServices.Call(session.key, trace: trace)
    }

    /// Waits until it is the user's turn, if the request has one and users take turns.
    func turn(patience: Duration?) async throws(Failure) -> LongAnswers.Turn? {
        guard let session, let longAnswers else { return nil }
        return try await longAnswers.turn(of: session.key, patience: patience)
    }

    /// Services have answered the request, or a piece of it, with so much.
    func gave(_ bytes: Int) {
        if let session { longAnswers?.gave(bytes, to: session.key) }
    }

    /// The user who asks.
    func reader() throws(Failure) -> UserID {
        guard let session else { throw Failure(.authenticationRequired, "Please sign in.") }
        return session.key.user
    }

    /// The id of an object in the path.
    /// - Throws: `not_found`, since nothing can have such an id.
    func id<ID: ObjectID>(_ name: String, _: ID.Type = ID.self, what: String) throws(Failure) -> ID {
        guard let text = coreContext.parameters.get(name), let id = ID(parsing: text.removingPercentEncoding ?? text) else {
            throw .notFound(what)
        }
        return id
    }
}

/// What a route answers with.
struct RESTAnswer {
    var status: HTTPResponse.Status
    var json: ByteBuffer?
    /// A body that is no JSON, with its type in ``headers``.
    var stream: ResponseBody?
    var headers: HTTPFields = [:]

    static let noContent = RESTAnswer(status: .noContent)

    /// A JSON body; `body` writes the one value.
    static func json(_ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], _ body: (inout JSONWriter) -> Void) -> RESTAnswer {
        var writer = JSONWriter()
        body(&writer)
        return RESTAnswer(status: status, json: writer.buffer, headers: headers)
    }

    /// A page of a list, with the length of the whole list in `Layer-Count` (spec 1.8).
    static func list<Item>(_ items: [Item], total: Int, write: (Item, inout JSONWriter) -> Void) -> RESTAnswer {
        json(headers: [.layerCount: String(total)]) { writer in
            writer.beginArray()
            for item in items { write(item, &writer) }
            writer.endArray()
        }
    }

    /// The same for a page that may be long: what does not come with its first batch is fetched, rendered and sent a batch at a time, no faster than the client
    /// takes it. Should that fail, the connection ends before the array does.
    static func list<Page: Batches>(
        _ page: Page, total: Int, to context: RESTContext, write: @escaping @Sendable (Page.Item, inout JSONWriter) -> Void
    ) async throws(Failure) -> RESTAnswer {
        var page = page
        let items = try await page.next() ?? []
        if page.isFinished { return list(items, total: total, write: write) }
        var array = ArrayPieces(write: write)
        let first = array.piece(items, isLast: false)
        // What has begun goes on: each batch takes the room of the one before it.
        let lease = context.lease
        lease?.isRefusable = false
        lease?.settle(to: first.readableBytes)
        let body = ResponseBody { [page, array, context] writer in
            var (page, array) = (page, array)
            let channel = context.channel
            try await writer.write(first, to: channel)
            while !page.isFinished {
                // No longer than it takes to have the piece: clients take their time.
                let turn = try await context.turn(patience: nil)
                guard let items = try await RPCAnswers.$account.withValue(lease, operation: { try await page.next() }) else { break }
                let piece = array.piece(items, isLast: page.isFinished)
                context.gave(lease?.takeAnswered() ?? 0)
                turn?.end()
                lease?.settle(to: piece.readableBytes)
                try await writer.write(piece, to: channel)
            }
            if !array.isComplete { try await writer.write(array.piece([], isLast: true), to: channel) }
            lease?.settle(to: 0)
            try await writer.finish(nil)
        }
        return RESTAnswer(status: .ok, stream: body, headers: [.contentType: "application/json", .layerCount: String(total)])
    }

    var response: Response { response(nil) }

    /// - Parameter context: of the request; a long answer leaves no faster than its client takes it.
    func response(_ context: RESTContext?) -> Response {
        var headers = headers
        guard let json else { return Response(status: status, headers: headers, body: stream ?? ResponseBody()) }
        // Stock clients parse a body only if the type begins with exactly this (spec 1.5).
        headers[.contentType] = "application/json"
        guard let context, json.readableBytes > ResponsePieces.bytes else {
            context?.lease?.settle(to: 0)
            return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: json))
        }
        let (channel, lease) = (context.channel, context.lease)
        lease?.settle(to: json.readableBytes)
        let body = ResponseBody(contentLength: json.readableBytes) { writer in
            try await writer.write(json, to: channel)
            lease?.settle(to: 0)
            try await writer.finish(nil)
        }
        return Response(status: status, headers: headers, body: body)
    }
}

extension HTTPField.Name {
    static let layerCount = Self("Layer-Count")!
    static let link = Self("Link")!
    static let methodOverride = Self("X-HTTP-Method-Override")!
}
