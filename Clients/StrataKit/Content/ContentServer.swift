// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

struct ContentLocation: Hashable, Sendable {
    let id: ContentID
    let size: Int
    /// The upload URL. Only the answer to the announcement of an upload contains it.
    let uploadURL: String?
    /// The download URL; nil until the upload is complete.
    let downloadURL: String?
    /// The expiry of the download URL, by the server's clock.
    let expires: Date?
}

/// The server requests of content transfers. Tests provide another implementation.
///
/// All methods throw ``RequestFailure`` or `CancellationError`.
protocol ContentServer: Sendable {
    /// Announces an upload.
    /// - Parameter name: an idempotency key. Repeated calls with the same name, type and size return the same content
    ///   with a new upload URL.
    func announce(mimeType: String, size: Int, name: UUID) async throws -> ContentLocation
    /// Uploads a whole file. The server discards interrupted uploads, so each try starts at the first byte.
    /// - Parameter sent: called with the number of bytes sent so far.
    func upload(
        _ file: URL, size: Int, mimeType: String, to url: String, sent: @escaping @Sendable (Int) -> Void) async throws
    func locate(_ id: ContentID) async throws -> ContentLocation
    /// Downloads the bytes that follow an offset.
    /// - Parameter receive: receives each chunk with its offset, in order. The first offset may be 0 even if another
    ///   offset was requested.
    func download(
        _ url: String, from offset: Int, receive: @escaping @Sendable (Int, Data) async throws -> Void
    ) async throws -> DownloadEnd
}

enum DownloadEnd: Hashable, Sendable {
    case complete
    /// The offset is not less than the size of the content.
    case beyondEnd
    /// The URL is invalid or has expired.
    case refused
}

struct ProtocolContentServer: ContentServer {
    let client: ProtocolClient
    /// Returns the session token; nil if no user is signed in.
    let token: @Sendable () async -> String?

    func announce(mimeType: String, size: Int, name: UUID) async throws -> ContentLocation {
        let headers = [
            "Upload-Content-Type": mimeType, "Upload-Content-Length": "\(size)", "Upload-Origin": client.baseURL,
            "Strata-Mutation": name.uuidString.lowercased(),
        ]
        let answer = try await call("POST", "/content", headers: headers)
        if answer.status == 422 { throw RequestFailure(answer, permanent: Self.code(of: answer)) }
        return try location(in: answer)
    }

    func upload(
        _ file: URL, size: Int, mimeType: String, to url: String, sent: @escaping @Sendable (Int) -> Void
    ) async throws {
        let chunks = FileChunks(url: file, taken: sent)
        let answer = try await requesting {
            try await client.upload(chunks, count: size, to: url, headers: ["Content-Type": mimeType])
        }
        // Upload URLs expire after a day. The next try announces the upload again and receives a new URL.
        if answer.status == 404 {
            throw RequestFailure.transient(.network("the upload URL is no longer valid"), retryAfter: nil)
        }
        guard answer.isSuccess else { throw RequestFailure(answer, permanent: .invalidMessage) }
    }

    func locate(_ id: ContentID) async throws -> ContentLocation {
        let answer = try await call("GET", "/content/\(id)")
        if answer.status == 404 { throw RequestFailure(answer, permanent: .messageDeleted) }
        return try location(in: answer)
    }

    func download(
        _ url: String, from offset: Int, receive: @escaping @Sendable (Int, Data) async throws -> Void
    ) async throws -> DownloadEnd {
        let answer = try await requesting { try await client.download(url, from: offset, receive: receive) }
        switch answer.status {
        case 200, 206: return .complete
        case 416: return .beyondEnd
        case 401, 403, 404, 410: return .refused
        default: throw RequestFailure(answer)
        }
    }

    // MARK: Requests

    /// Sends a request with the session token.
    /// - Throws: ``RequestFailure``: `signInNeeded` if no user is signed in; a transient failure if the server refused
    ///   a token that has been replaced meanwhile.
    private func call(_ method: String, _ path: String, headers: [String: String] = [:]) async throws -> RESTResponse {
        guard let token = await token() else { throw RequestFailure.signInNeeded(nonce: nil) }
        let answer = try await requesting {
            try await client.call(method, path, data: nil, token: token, headers: headers)
        }
        if answer.status == 401, await self.token() != token {
            throw RequestFailure.transient(
                .network("the session has ended, and there may be another one"), retryAfter: nil)
        }
        return answer
    }

    /// Converts all errors of a request except cancellation to ``RequestFailure``.
    private func requesting(_ request: () async throws -> RESTResponse) async throws -> RESTResponse {
        do {
            return try await request()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw RequestFailure(error)
        }
    }

    /// Returns the error code of a refused announcement: the content is too long, or another argument is invalid.
    private static func code(of refusal: RESTResponse) -> StrataError.Code {
        refusal.json["data"]["property"].string == "Upload-Content-Length"
            ? .dataLengthExceedsMaximum : .invalidArgument
    }

    private func location(in answer: RESTResponse) throws -> ContentLocation {
        guard answer.isSuccess else { throw RequestFailure(answer) }
        let json = answer.json
        guard let id = json["id"].string.flatMap({ ContentID(parsing: $0) }), let size = WireObjects.size(json["size"])
        else {
            throw RequestFailure.permanent(
                StrataError(.synchronizationFailure, "the server's answer about content has no id or no size"), answer)
        }
        let base = PublicBase(refreshURL: json["refresh_url"].string, id: id)
        return ContentLocation(
            id: id, size: size, uploadURL: json["upload_url"].string.map { base.reachable($0, by: client.baseURL) },
            downloadURL: json["download_url"].string.map { base.reachable($0, by: client.baseURL) },
            expires: WireObjects.time(json["expiration"])?.date)
    }
}

/// The server's public base URL.
///
/// The base URL may differ from the address that this client uses, for example behind a forwarded port. URLs below the
/// public base URL are rewritten to the client's address. Other URLs, for example of an object store, are used
/// unchanged.
struct PublicBase: Hashable, Sendable {
    private let base: String?

    /// - Parameter refreshURL: the URL of the content's REST resource, which is below the public base URL.
    init(refreshURL: String?, id: ContentID) {
        let path = "/content/\(id)"
        base = refreshURL.flatMap { $0.hasSuffix(path) ? String($0.dropLast(path.count)) : nil }
    }

    /// Returns the URL at the address that this client uses.
    func reachable(_ url: String, by address: String) -> String {
        guard let base, url.hasPrefix(base + "/") else { return url }
        return address + url.dropFirst(base.count)
    }
}
