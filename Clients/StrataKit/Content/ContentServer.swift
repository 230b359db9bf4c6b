// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

/// The URLs of content on the server.
struct ContentLocation: Hashable, Sendable {
    let id: ContentID
    let size: Int
    /// Only the answer to the announcement of an upload has this URL.
    let uploadURL: String?
    /// Nil until all bytes are on the server.
    let downloadURL: String?
    /// When the download URL stops working, by the server's clock.
    let expires: Date?
}

/// The requests that content transfers make. Tests have another implementation.
///
/// All methods throw ``RequestFailure``, or a `CancellationError`.
protocol ContentServer: Sendable {
    /// Announces an upload.
    /// - Parameter name: the same name, type and size give the same content each time, with a new upload URL.
    func announce(mimeType: String, size: Int, name: UUID) async throws -> ContentLocation
    /// Uploads a whole file. The server does not keep an interrupted upload, so it begins again from the start.
    /// - Parameter sent: called with the number of bytes that were sent so far.
    func upload(_ file: URL, size: Int, mimeType: String, to url: String, sent: @escaping @Sendable (Int) -> Void) async throws
    /// Asks for a fresh download URL.
    func locate(_ id: ContentID) async throws -> ContentLocation
    /// Downloads the bytes from an offset on.
    /// - Parameter receive: receives each piece and its offset, in order. The first offset may be 0 even if another one was requested.
    func download(
        _ url: String, from offset: Int, receive: @escaping @Sendable (Int, Data) async throws -> Void
    ) async throws -> DownloadEnd
}

enum DownloadEnd: Hashable, Sendable {
    /// All bytes of the content have arrived.
    case complete
    /// The content has no bytes at the offset.
    case beyondEnd
    /// The URL does not work, or does not work any more.
    case refused
}

/// Content transfers by the public protocol.
struct ProtocolContentServer: ContentServer {
    let client: ProtocolClient
    /// The session's token; nil while no user is signed in.
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

    func upload(_ file: URL, size: Int, mimeType: String, to url: String, sent: @escaping @Sendable (Int) -> Void) async throws {
        let chunks = FileChunks(url: file, taken: sent)
        let answer = try await requesting { try await client.upload(chunks, count: size, to: url, headers: ["Content-Type": mimeType]) }
        // An upload URL works for a day. The next try announces the upload again, and gets a new one.
        if answer.status == 404 { throw RequestFailure.transient(.network("the upload URL does not work any more"), retryAfter: nil) }
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

    private func call(_ method: String, _ path: String, headers: [String: String] = [:]) async throws -> RESTAnswer {
        guard let token = await token() else { throw RequestFailure.signInNeeded(nonce: nil) }
        let answer = try await requesting { try await client.call(method, path, data: nil, token: token, headers: headers) }
        if answer.status == 401, await self.token() != token {
            throw RequestFailure.transient(.network("the session has ended, and there may be another one"), retryAfter: nil)
        }
        return answer
    }

    private func requesting(_ request: () async throws -> RESTAnswer) async throws -> RESTAnswer {
        do {
            return try await request()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw RequestFailure(error)
        }
    }

    private static func code(of refusal: RESTAnswer) -> StrataError.Code {
        refusal.json["data"]["property"].string == "Upload-Content-Length" ? .dataLengthExceedsMaximum : .invalidArgument
    }

    private func location(in answer: RESTAnswer) throws -> ContentLocation {
        guard answer.isSuccess else { throw RequestFailure(answer) }
        let json = answer.json
        guard let id = json["id"].string.flatMap({ ContentID(parsing: $0) }), let size = WireObjects.size(json["size"]) else {
            throw RequestFailure.permanent(StrataError(.synchronizationFailure, "the server's answer about content has no id or no size"), answer)
        }
        let base = PublicBase(refreshURL: json["refresh_url"].string, id: id)
        return ContentLocation(
            id: id, size: size, uploadURL: json["upload_url"].string.map { base.reachable($0, by: client.baseURL) },
            downloadURL: json["download_url"].string.map { base.reachable($0, by: client.baseURL) },
            expires: WireObjects.time(json["expiration"])?.date)
    }
}

/// The address by which the server names itself.
///
/// It may differ from the address that this client uses, for example behind a forwarded port. Content of the server itself is then requested at the client's
/// address. URLs of other places, such as an object store, are used unchanged.
struct PublicBase: Hashable, Sendable {
    private let base: String?

    /// - Parameter refreshURL: the REST resource of content, below the server's address.
    init(refreshURL: String?, id: ContentID) {
        let path = "/content/\(id)"
        base = refreshURL.flatMap { $0.hasSuffix(path) ? String($0.dropLast(path.count)) : nil }
    }

    /// The URL at the address that this client uses.
    func reachable(_ url: String, by address: String) -> String {
        guard let base, url.hasPrefix(base + "/") else { return url }
        return address + url.dropFirst(base.count)
    }
}
