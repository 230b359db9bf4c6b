// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import Model
import NIOCore
import Wire

/// Rich content (spec 8). The two URLs with a token in them need no session: whoever has the token may.
extension RESTRouter {
    func registerContent(on router: RESTRoutes) {
        on(router, .post, "/content", .signedIn) { request, context throws(Failure) in try await createContent(request, context) }
        on(router, .get, "/content/:id", .signedIn) { _, context throws(Failure) in
            let id: ContentID = try context.id("id", what: "content")
            let (size, isUploaded) = try await services.content(id, try context.call())
            let location = isUploaded ? services.renderer.locateContent(id) : ContentLocation(downloadURL: nil, expiration: nil)
            return .json { services.renderer.write(id, size: size, at: location, into: &$0) }
        }
        on(router, .put, "/content/uploads/:token", .open) { request, context throws(Failure) in try await upload(request, context) }
        for method in [HTTPRequest.Method.get, .head] {
            on(router, method, "/content/downloads/:token", .open) { request, context throws(Failure) in
                try await download(request, context)
            }
        }
    }

    private func richContent() throws(Failure) -> RichContent {
        guard let content = services.content else { throw Failure(.serviceUnavailable, "This server does not keep rich content.") }
        return content
    }

    // MARK: Uploads

    private func createContent(_ request: Request, _ context: RESTContext) async throws(Failure) -> RESTAnswer {
        let content = try richContent()
        let upload = ContentTokens.Upload(id: .random(), size: try announcedSize(request), type: try announcedType(request))
        try await services.createContent(upload, try context.call())
        return .json(.created) {
            services.renderer.write(
                upload.id, size: upload.size, at: ContentLocation(downloadURL: nil, expiration: nil), uploadURL: content.uploadURL(for: upload),
                into: &$0)
        }
    }

    private func announcedSize(_ request: Request) throws(Failure) -> Int {
        let name = "Upload-Content-Length"
        guard let text = request.headers[.uploadContentLength] else { throw .missing(name) }
        guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }), !text.isEmpty else {
            throw .invalid(name, "must be a number of bytes")
        }
        let most = services.settings.contentMaxBytes
        guard let size = Int(text), size <= most else { throw .invalid(name, "is more than \(most)") }
        return size
    }

    private func announcedType(_ request: Request) throws(Failure) -> String {
        let name = "Upload-Content-Type"
        guard let type = request.headers[.uploadContentType], !type.isEmpty else { throw .missing(name) }
        guard type.utf8.count <= ContentTrailer.typeBytes, type.utf8.allSatisfy({ (0x20...0x7e).contains($0) }), type.contains("/") else {
            throw .invalid(name, "must be a MIME type of at most \(ContentTrailer.typeBytes) characters")
        }
        return type
    }

    /// A repeated upload of what is there already succeeds, and changes nothing.
    private func upload(_ request: Request, _ context: RESTContext) async throws(Failure) -> RESTAnswer {
        let content = try richContent()
        guard let upload = context.parameters.get("token").flatMap({ content.tokens.upload($0, at: .now()) }) else { throw .notFound("upload") }
        if let length = request.headers[.contentLength], Int(length) != upload.size {
            throw .invalid("Content-Length", "is not the number of bytes that was announced")
        }
        do throws(ContentStoreError) {
            if try await content.store.open(upload.id) == nil {
                try await content.store.write(upload.id, type: upload.type, size: upload.size, from: request.body)
            }
        } catch {
            throw error.failure(logger: context.logger)
        }
        do throws(Failure) {
            try await services.finishContent(upload.id, trace: context.trace)
        } catch {
            if error.code == .notFound { try? await content.store.remove(upload.id) }
            throw error
        }
        return .noContent
    }

    // MARK: Downloads

    /// Bytes that are read at a time.
    private static let chunkBytes = 64 * 1024

    private func download(_ request: Request, _ context: RESTContext) async throws(Failure) -> RESTAnswer {
        let content = try richContent()
        guard let token = context.parameters.get("token").flatMap({ content.tokens.download($0, at: .now()) }) else { throw .notFound("content") }
        let opened: (any ContentReader)?
        do throws(ContentStoreError) {
            opened = try await content.store.open(token.id)
        } catch {
            throw error.failure(logger: context.logger)
        }
        guard let reader = opened else { throw .notFound("content") }
        let headers = downloadHeaders(token, reader)
        let tag = headers[.eTag] ?? ""
        if let known = request.headers[.ifNoneMatch], Self.names(known, tag) { return answer(.notModified, headers, length: reader.size) }
        if request.method == .head { return answer(.ok, headers, length: reader.size) }
        // The range is meant for what the client has begun to load; content never changes, but the tag may be that of something else.
        let isSame = request.headers[.ifRange].map { $0 == tag } ?? true
        switch ByteRange(isSame ? request.headers[.range] : nil, size: reader.size) {
        case .everything: return answer(.ok, headers, Self.body(reader, 0..<reader.size, context.channel))
        case .part(let range):
            var headers = headers
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(reader.size)"
            return answer(.partialContent, headers, Self.body(reader, range, context.channel))
        case .unsatisfiable:
            let failure = Failure(.invalidRequest, "The range lies beyond the end.")
            return .json(.rangeNotSatisfiable, headers: [.contentRange: "bytes */\(reader.size)"]) {
                services.renderer.write(failure, for: nil, version: context.version, into: &$0)
            }
        }
    }

    /// Whatever was uploaded, no browser may run it or guess what it is: it comes from the same origin as the API.
    private func downloadHeaders(_ token: ContentTokens.Download, _ reader: any ContentReader) -> HTTPFields {
        let seconds = max(0, (token.expiresAt.microseconds - Timestamp.now().microseconds) / 1_000_000)
        return [
            .contentType: reader.type.isEmpty ? "application/octet-stream" : reader.type, .eTag: "\"\(token.id)\"", .acceptRanges: "bytes",
            .cacheControl: "private, max-age=\(seconds)", .vary: "Origin", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'", .crossOriginResourcePolicy: "cross-origin",
        ]
    }

    /// Whether a list of entity tags has this one in it.
    private static func names(_ list: String, _ tag: String) -> Bool {
        list.split(separator: ",")
            .contains { item in
                let item = item.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                return item == "*" || item == tag || item == "W/\(tag)"
            }
    }

    private func answer(_ status: HTTPResponse.Status, _ headers: HTTPFields, length: Int) -> RESTAnswer {
        var headers = headers
        headers[.contentLength] = "\(length)"
        return RESTAnswer(status: status, headers: headers)
    }

    private func answer(_ status: HTTPResponse.Status, _ headers: HTTPFields, _ body: ResponseBody) -> RESTAnswer {
        RESTAnswer(status: status, stream: body, headers: headers)
    }

    /// Reads no faster than the client does.
    private static func body(_ reader: any ContentReader, _ range: Range<Int>, _ channel: any Channel) -> ResponseBody {
        ResponseBody(contentLength: range.count) { writer in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let chunk = try await reader.read(at: offset, atMost: min(Self.chunkBytes, range.upperBound - offset))
                // Less than was promised: the connection ends here, which is what tells the client.
                guard chunk.readableBytes > 0 else { throw ContentStoreError.brokenOff }
                try await writer.write(piece: chunk, to: channel)
                offset += chunk.readableBytes
            }
            try await writer.finish(nil)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let uploadContentLength = Self("Upload-Content-Length")!
    fileprivate static let uploadContentType = Self("Upload-Content-Type")!
    fileprivate static let crossOriginResourcePolicy = Self("Cross-Origin-Resource-Policy")!
}
