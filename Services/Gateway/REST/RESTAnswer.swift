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
    /// A body that is not JSON. Its type is in ``headers``.
    var stream: ResponseBody?
    var headers: HTTPFields = [:]

    static let noContent = RESTAnswer(status: .noContent)

    /// Returns the answer with headers that name the log positions of a change.
    func at(_ place: LogPosition) -> RESTAnswer {
        var answer = self
        if let position = place.position { answer.headers[.strataPosition] = String(position.rawValue) }
        if let position = place.userPosition { answer.headers[.strataUserPosition] = String(position.rawValue) }
        return answer
    }

    /// Returns an answer with a JSON body. `body` writes its single value.
    static func json(
        _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], _ body: (inout JSONWriter) -> Void
    ) -> RESTAnswer {
        var writer = JSONWriter()
        body(&writer)
        return RESTAnswer(status: status, json: writer.buffer, headers: headers)
    }

    /// Returns an answer with a whole list. `Layer-Count` is its length.
    static func list<Item>(_ items: [Item], total: Int, write: (Item, inout JSONWriter) -> Void) -> RESTAnswer {
        list(items, headers: [.layerCount: String(total)], write: write)
    }

    /// Returns an answer with a page of a list and its headers (``RESTFeature/headers(of:in:list:query:)``).
    static func list<Item>(_ items: [Item], headers: HTTPFields, write: (Item, inout JSONWriter) -> Void) -> RESTAnswer
    {
        json(headers: headers) { writer in
            writer.beginArray()
            for item in items { write(item, &writer) }
            writer.endArray()
        }
    }

    /// Returns an answer with a page of a list that may be long. Objects beyond the first batch are fetched, rendered
    /// and sent in batches, no faster than the client reads them. If a batch fails, the connection ends before the
    /// array does.
    static func list<Page: Batches>(
        _ page: Page, headers: HTTPFields, to context: some RESTRouteContext,
        write: @escaping @Sendable (Page.Item, inout JSONWriter) -> Void
    ) async throws(Failure) -> RESTAnswer {
        var page = page
        let items = try await page.next() ?? []
        if page.isFinished { return list(items, headers: headers, write: write) }
        var array = ArrayPieces(write: write)
        let first = array.piece(items, isLast: false)
        // A body that has begun must not be refused: each batch reuses the room of the one before it.
        let lease = context.request.answer
        lease?.isRefusable = false
        lease?.settle(to: first.readableBytes)
        let body = ResponseBody { [page, array, context] writer in
            var (page, array) = (page, array)
            let channel = context.request.channel
            try await writer.writeText(first, to: channel)
            while !page.isFinished {
                // Hold the turn only until the piece is rendered, because clients can read slowly.
                let turn = try await context.request.turn(patience: nil)
                let piece = try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try await page.next().map { array.piece($0, isLast: page.isFinished) }
                }
                guard let piece else { break }
                context.request.recordBytes(lease?.takeAnswered() ?? 0)
                turn?.end()
                lease?.settle(to: piece.readableBytes)
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

    /// Returns the HTTP response. A long answer is sent no faster than its client reads it.
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

/// A JSON array written in pieces. Their concatenation is the array's text.
struct ArrayPieces<Item>: Sendable {
    private let write: @Sendable (Item, inout JSONWriter) -> Void
    private var isEmpty = true
    private(set) var isComplete = false

    init(write: @escaping @Sendable (Item, inout JSONWriter) -> Void) { self.write = write }

    /// Returns the text of the next elements, with separators and brackets as needed.
    mutating func piece(_ items: [Item], isLast: Bool) -> ByteBuffer {
        var writer = JSONWriter(capacity: 64 << 10)
        writer.beginArray()
        for item in items { write(item, &writer) }
        writer.endArray()
        var text = writer.buffer
        if !isLast { text.moveWriterIndex(to: text.writerIndex - 1) }
        if !isEmpty {
            // An earlier piece contains the opening bracket.
            if items.isEmpty {
                text.moveReaderIndex(forwardBy: 1)
            } else {
                text.setInteger(UInt8(ascii: ","), at: text.readerIndex)
            }
        }
        isEmpty = isEmpty && items.isEmpty
        isComplete = isLast
        return text
    }
}

enum ResponsePieces {
    /// The number of bytes in one write.
    static let bytes = 64 << 10
}

extension ResponseBodyWriter {
    /// Writes a long text no faster than the client reads it.
    @concurrent
    mutating func writeText(_ text: ByteBuffer, to channel: any Channel) async throws {
        var text = text
        while let slice = text.readSlice(length: Swift.min(text.readableBytes, ResponsePieces.bytes)),
            slice.readableBytes > 0
        {
            // Copy the bytes: a slice that waits in the channel would keep the whole text in memory.
            try await writePiece(ByteBuffer(bytes: slice.readableBytesView), to: channel)
        }
    }

    /// Writes a piece and returns when the channel accepts more.
    @concurrent
    mutating func writePiece(_ piece: ByteBuffer, to channel: any Channel) async throws {
        try await write(piece)
        // Wait for a turn of the event loop. Back-pressure is only known there; without this, writes would run ahead of
        // it.
        try await channel.eventLoop.submit {}.get()
    }
}
