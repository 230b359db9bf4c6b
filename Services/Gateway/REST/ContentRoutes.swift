// SPDX-License-Identifier: Apache-2.0
import FanOut
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import StrataModel
import StrataWire

/// Routes for rich content (docs/conformance.md §8). The upload and download URLs need no session: their token grants
/// the permission.
struct ContentRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let content = routes.signedIn("/content")
        content.on(.post, use: create)
        content.on(.get, ":id", use: load)
        // Libraries for servers also upload with POST.
        for method in [HTTPRequest.Method.put, .post] {
            routes.open("/content/uploads").on(method, ":token", use: upload)
        }
        for method in [HTTPRequest.Method.get, .head] {
            routes.open("/content/downloads").on(method, ":token", use: download)
        }
    }

    private func load(_ id: ContentID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let (size, isUploaded) = try await services.content(id, for: context.call)
        let location =
            isUploaded ? services.renderer.locateContent(id) : ContentLocation(downloadURL: nil, expiration: nil)
        return .json { renderer(for: context).writeContent(id, size: size, at: location, into: &$0) }
    }

    // MARK: Uploads

    private func create(_ asked: NewContent, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        // The size and the type are in headers, which are not part of the key's fingerprint. So they are part of the
        // id.
        let call = context.call
        let id =
            call.idempotencyKey.map { ContentID(rawValue: $0.derivedID(by: call.key, "\(asked.size) \(asked.type)")) }
            ?? .random()
        let upload = ContentTokens.Upload(id: id, size: asked.size, type: asked.type, app: call.key.app)
        try await services.createContent(upload, for: call)
        return .json(.created) {
            renderer(for: context)
                .writeContent(
                    upload.id, size: upload.size, at: ContentLocation(downloadURL: nil, expiration: nil),
                    uploadURL: asked.content.uploadURL(for: upload),
                    into: &$0)
        }
    }

    /// Stores an upload. A repeated upload of existing content succeeds and changes nothing.
    private func upload(_ asked: UploadRequest, in context: RESTContext) async throws(Failure) -> RESTAnswer {
        let (store, upload) = (asked.content.store, asked.upload)
        do throws(ContentStoreError) {
            if try await store.open(upload.id) == nil {
                try await store.write(upload.id, type: upload.type, size: upload.size, from: asked.body)
            }
        } catch {
            throw error.failure(logger: context.logger)
        }
        do throws(Failure) {
            try await services.finishContent(upload, trace: context.trace)
        } catch {
            if error.code == .notFound { try? await store.remove(upload.id) }
            throw error
        }
        // Libraries for servers require this status (docs/conformance-server.md, SRV-66). Those for clients accept any
        // success.
        return RESTAnswer(status: .ok)
    }

    // MARK: Downloads

    private func download(_ asked: DownloadRequest, in context: RESTContext) async throws(Failure) -> RESTAnswer {
        let token = asked.token
        if let url = asked.content.store.directURL(of: token.id, isHead: asked.isHead, until: token.expiresAt) {
            let headers: HTTPFields = [
                .location: url, .cacheControl: Self.cacheControl(token), .vary: "Origin", .contentLength: "0",
            ]
            return RESTAnswer(status: .temporaryRedirect, headers: headers)
        }
        let opened: (any ContentReader)?
        do throws(ContentStoreError) {
            opened = try await asked.content.store.open(token.id)
        } catch {
            throw error.failure(logger: context.logger)
        }
        guard let reader = opened else { throw .notFound("content") }
        let headers = downloadHeaders(for: token, of: reader)
        let tag = headers[.eTag] ?? ""
        if let known = asked.headers[.ifNoneMatch], Self.names(known, tag: tag) {
            return answer(.notModified, headers: headers, length: reader.size)
        }
        if asked.isHead { return answer(.ok, headers: headers, length: reader.size) }
        // A range refers to the representation that the client began to load. Content never changes, but the tag may be
        // another content's.
        let isSame = asked.headers[.ifRange].map { $0 == tag } ?? true
        switch ByteRange(isSame ? asked.headers[.range] : nil, size: reader.size) {
        case .everything:
            return answer(
                .ok, headers: headers, body: Self.body(of: reader, range: 0..<reader.size, channel: context.channel))
        case .part(let range):
            var headers = headers
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(reader.size)"
            return answer(
                .partialContent, headers: headers, body: Self.body(of: reader, range: range, channel: context.channel))
        case .unsatisfiable:
            let failure = Failure(.invalidRequest, "The range lies beyond the end.")
            return .json(.rangeNotSatisfiable, headers: [.contentRange: "bytes */\(reader.size)"]) {
                services.renderer.writeFailure(failure, for: nil, version: context.version, into: &$0)
            }
        }
    }

    /// Returns headers that keep browsers from running the content or guessing its type, because it has the origin of
    /// the API.
    private func downloadHeaders(for token: ContentTokens.Download, of reader: any ContentReader) -> HTTPFields {
        [
            .contentType: reader.type.isEmpty ? "application/octet-stream" : reader.type, .eTag: "\"\(token.id)\"",
            .acceptRanges: "bytes",
            .cacheControl: Self.cacheControl(token), .vary: "Origin", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'", .crossOriginResourcePolicy: "cross-origin",
        ]
    }

    private static func cacheControl(_ token: ContentTokens.Download) -> String {
        let seconds = max(0, (token.expiresAt.microseconds - Timestamp.now().microseconds) / 1_000_000)
        return "private, max-age=\(seconds)"
    }

    /// Returns true if the value of an `If-None-Match` header includes the tag.
    private static func names(_ list: String, tag: String) -> Bool {
        list.split(separator: ",")
            .contains { item in
                let item = item.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                return item == "*" || item == tag || item == "W/\(tag)"
            }
    }

    private func answer(_ status: HTTPResponse.Status, headers: HTTPFields, length: Int) -> RESTAnswer {
        var headers = headers
        headers[.contentLength] = "\(length)"
        return RESTAnswer(status: status, headers: headers)
    }

    private func answer(_ status: HTTPResponse.Status, headers: HTTPFields, body: ResponseBody) -> RESTAnswer {
        RESTAnswer(status: status, stream: body, headers: headers)
    }

    /// Returns a body that is read no faster than the client reads it.
    private static func body(of reader: any ContentReader, range: Range<Int>, channel: any Channel) -> ResponseBody {
        ResponseBody(contentLength: range.count) { writer in
            var pieces = reader.pieces(of: range)
            while let piece = try await pieces.next() { try await writer.writePiece(piece, to: channel) }
            try await writer.finish(nil)
        }
    }
}

struct NewContent: RESTRequest {
    let content: RichContent
    let size: Int
    let type: String

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        content = try services.richContent()
        size = try Self.size(request, atMost: services.settings.content.maxBytes)
        type = try Self.type(request)
    }

    private static func size(_ request: Request, atMost most: Int) throws(Failure) -> Int {
        let name = "Upload-Content-Length"
        guard let text = request.headers[.uploadContentLength] else { throw .missing(name) }
        guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }), !text.isEmpty else {
            throw .invalid(name, reason: "must be a number of bytes")
        }
        guard let size = Int(text), size <= most else { throw .invalid(name, reason: "must be at most \(most)") }
        return size
    }

    private static func type(_ request: Request) throws(Failure) -> String {
        let name = "Upload-Content-Type"
        guard let type = request.headers[.uploadContentType], !type.isEmpty else { throw .missing(name) }
        guard type.utf8.count <= ContentTrailer.typeBytes, type.utf8.allSatisfy({ (0x20...0x7e).contains($0) }),
            type.contains("/")
        else {
            throw .invalid(name, reason: "must be a MIME type of at most \(ContentTrailer.typeBytes) characters")
        }
        return type
    }
}

private struct UploadRequest: RESTRequest {
    let content: RichContent
    let upload: ContentTokens.Upload
    let body: HummingbirdCore.RequestBody

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        let content = try services.richContent()
        guard let upload = context.parameters.get("token").flatMap({ content.tokens.upload($0, at: .now()) }) else {
            throw .notFound("upload")
        }
        if let length = request.headers[.contentLength], Int(length) != upload.size {
            throw ContentStoreError.wrongLength.failure(logger: context.logger)
        }
        (self.content, self.upload) = (content, upload)
        let streamed = StreamedBody(
            body: request.body, bufferedBytes: content.store.bufferedBytes(of: upload.size), channel: context.channel)
        body = HummingbirdCore.RequestBody(asyncSequence: streamed)
    }
}

private struct DownloadRequest: RESTRequest {
    let content: RichContent
    let token: ContentTokens.Download
    let isHead: Bool
    /// The request's headers, which may name the parts that the client already has.
    let headers: HTTPFields

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) throws(Failure) {
        let content = try services.richContent()
        guard let token = context.parameters.get("token").flatMap({ content.tokens.download($0, at: .now()) }) else {
            throw .notFound("content")
        }
        (self.content, self.token, isHead, headers) = (content, token, request.method == .head, request.headers)
    }
}

extension GatewayServices {
    fileprivate func richContent() throws(Failure) -> RichContent {
        guard let content else { throw Failure(.serviceUnavailable, "This server does not store rich content.") }
        return content
    }
}

extension HTTPField.Name {
    fileprivate static let uploadContentLength = Self("Upload-Content-Length")!
    fileprivate static let uploadContentType = Self("Upload-Content-Type")!
    fileprivate static let crossOriginResourcePolicy = Self("Cross-Origin-Resource-Policy")!
}

/// The range of bytes that a `Range` header requests (RFC 9110 §14). Several ranges or another unit are answered with
/// everything, which the RFC allows.
enum ByteRange: Hashable {
    case everything
    case part(Range<Int>)
    /// The requested range contains no existing byte.
    case unsatisfiable

    /// - Parameter size: the size of the content, in bytes.
    init(_ header: String?, size: Int) {
        guard let header, header.lowercased().hasPrefix("bytes=") else {
            self = .everything
            return
        }
        let text = header.dropFirst("bytes=".count).filter { $0 != " " && $0 != "\t" }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, !text.contains(","), let first = Self.number(ends[0]), let last = Self.number(ends[1])
        else {
            self = .everything
            return
        }
        switch (first, last) {
        case (nil, nil): self = .everything
        case (nil, let count?): self = count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
        case (let first?, let last):
            guard first <= last ?? .max else {
                self = .everything
                return
            }
            self = first >= size ? .unsatisfiable : .part(first..<min(last ?? .max, size - 1) + 1)
        }
    }

    /// Returns a number, `.some(nil)` for an empty text, or nil for any other text. A number that is too large becomes
    /// the largest.
    private static func number(_ text: Substring) -> Int?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else { return nil }
        return .some(Int(text) ?? .max)
    }
}
