// SPDX-License-Identifier: Apache-2.0
import FanOut
import HTTPTypes
import Hummingbird
import NIOCore
import StrataModel
import StrataWire

struct RESTAnswer {
    var status: HTTPResponse.Status
    var json: ByteBuffer?
    /// A body that is no JSON, with its type in ``headers``.
    var stream: ResponseBody?
    var headers: HTTPFields = [:]

    static let noContent = RESTAnswer(status: .noContent)

    /// The same with headers that say where a change is told.
    func at(_ place: ChangePlace) -> RESTAnswer {
        var answer = self
        if let position = place.position { answer.headers[.strataPosition] = String(position.rawValue) }
        if let position = place.userPosition { answer.headers[.strataUserPosition] = String(position.rawValue) }
        return answer
    }

    /// A JSON body; `body` writes the one value.
    static func json(_ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], _ body: (inout JSONWriter) -> Void) -> RESTAnswer {
        var writer = JSONWriter()
        body(&writer)
        return RESTAnswer(status: status, json: writer.buffer, headers: headers)
    }

    /// A whole list, with its length in `Layer-Count`.
    static func list<Item>(_ items: [Item], total: Int, write: (Item, inout JSONWriter) -> Void) -> RESTAnswer {
        list(items, headers: [.layerCount: String(total)], write: write)
    }

    /// A page of a list, with what its headers say (``RESTFeature/headers(of:in:list:query:)``).
    static func list<Item>(_ items: [Item], headers: HTTPFields, write: (Item, inout JSONWriter) -> Void) -> RESTAnswer {
        json(headers: headers) { writer in
            writer.beginArray()
            for item in items { write(item, &writer) }
            writer.endArray()
        }
    }

    /// The same for a page that may be long: what does not come with its first batch is fetched, rendered and sent a batch at a time, no faster than the client
    /// takes it. Should that fail, the connection ends before the array does.
    static func list<Page: Batches>(
        _ page: Page, headers: HTTPFields, to context: some RESTRouteContext, write: @escaping @Sendable (Page.Item, inout JSONWriter) -> Void
    ) async throws(Failure) -> RESTAnswer {
        var page = page
        let items = try await page.next() ?? []
        if page.isFinished { return list(items, headers: headers, write: write) }
        var array = ArrayPieces(write: write)
        let first = array.piece(items, isLast: false)
        // What has begun goes on: each batch takes the room of the one before it.
        let lease = context.request.answer
        lease?.isRefusable = false
        lease?.settle(to: first.readableBytes + page.heldBytes)
        let body = ResponseBody { [page, array, context] writer in
            var (page, array) = (page, array)
            let channel = context.request.channel
            try await writer.writeText(first, to: channel)
            while !page.isFinished {
                // No longer than it takes to have the piece: clients take their time.
                let turn = try await context.request.turn(patience: nil)
                guard let items = try await page.next() else { break }
                let piece = array.piece(items, isLast: page.isFinished)
                context.request.gave(lease?.takeAnswered() ?? 0)
                turn?.end()
                lease?.settle(to: piece.readableBytes + page.heldBytes)
                try await writer.writeText(piece, to: channel)
            }
            if !array.isComplete { try await writer.writeText(array.piece([], isLast: true), to: channel) }
            lease?.settle(to: 0)
            try await writer.finish(nil)
        }
        var headers = headers
        headers[.contentType] = context.request.jsonType
        return RESTAnswer(status: .ok, stream: body, headers: headers)
    }

    /// - Parameter context: of the request; a long answer leaves no faster than its client takes it.
    func response(_ context: RESTContext) -> Response {
        var headers = headers
        guard let json else { return Response(status: status, headers: headers, body: stream ?? ResponseBody()) }
        headers[.contentType] = context.jsonType
        guard json.readableBytes > ResponsePieces.bytes else {
            context.answer?.settle(to: 0)
            return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: json))
        }
        let (channel, lease) = (context.channel, context.answer)
        lease?.settle(to: json.readableBytes)
        let body = ResponseBody(contentLength: json.readableBytes) { writer in
            try await writer.writeText(json, to: channel)
            lease?.settle(to: 0)
            try await writer.finish(nil)
        }
        return Response(status: status, headers: headers, body: body)
    }
}

extension HTTPField.Name {
    static let layerCount = Self("Layer-Count")!
    static let link = Self("Link")!
    static let strataPosition = Self("Strata-Position")!
    static let strataUserPosition = Self("Strata-User-Position")!
}
