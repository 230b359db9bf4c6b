// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ProtocolClient
import TestCluster
import Testing

/// Rich content that was announced for upload.
struct AnnouncedContent: Sendable {
    let id: String
    let uploadURL: String

    var path: String { layerPath(id) }
    var part: JSONValue { ["mime_type": "image/png", "content": ["id": .string(id), "size": 1]] }
    var message: JSONValue { ["parts": [["mime_type": "text/plain", "body": "look"], part]] }
}

/// Returns the path of a URL in one of the server's objects.
func path(of url: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
    let base = "https://chat.test"
    try #require(url.hasPrefix(base + "/"), sourceLocation: sourceLocation)
    return String(url.dropFirst(base.count))
}

extension TestUser {
    func announce(
        _ size: Int, type: String = "image/png", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> AnnouncedContent {
        let answer = try await call(
            "POST", "/content", headers: ["Upload-Content-Length": "\(size)", "Upload-Content-Type": type])
        try #require(answer.status == 201, "\(answer.json)", sourceLocation: sourceLocation)
        return AnnouncedContent(
            id: try #require(answer.json["id"].string, sourceLocation: sourceLocation),
            uploadURL: try #require(answer.json["upload_url"].string, sourceLocation: sourceLocation))
    }

    func upload(
        _ bytes: Data, type: String = "image/png", via gateway: Int? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> AnnouncedContent {
        let content = try await announce(bytes.count, type: type, sourceLocation: sourceLocation)
        let answer = try await app.system.put(bytes, to: content.uploadURL, via: gateway ?? self.gateway)
        try #require(answer.status == 200, "\(answer.json)", sourceLocation: sourceLocation)
        return content
    }

    func downloadURL(
        of content: AnnouncedContent, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try #require(try await does("GET", content.path)["download_url"].string, sourceLocation: sourceLocation)
    }
}

extension RESTResponse {
    subscript(key: String) -> JSONValue { json[key] }
}

extension TestSystem {
    /// Uploads as stock clients do: without session and version.
    func put(
        _ bytes: Data, to url: String, via gateway: Int = 0, headers: [String: String] = [:]
    ) async throws -> RESTResponse {
        let own = [
            "Accept": "", "Content-Type": "image/png", "Upload-Content-Length": "\(bytes.count)",
            "Upload-Content-Type": "image/png",
        ]
        return try await client(gateway)
            .call(
                "PUT", path(of: url), data: bytes, headers: own.merging(headers) { $1 }, deadline: Waiting.deadline)
    }

    func fetch(
        _ url: String, via gateway: Int = 0, method: String = "GET", headers: [String: String] = [:]
    ) async throws -> RESTResponse {
        try await client(gateway)
            .call(
                method, path(of: url), data: nil, headers: ["Accept": ""].merging(headers) { $1 },
                deadline: Waiting.deadline)
    }
}

extension Cluster {
    /// The files of all contents and of pending uploads.
    var contentFiles: [String] {
        (FileManager.default.enumerator(atPath: contentDirectory)?.allObjects as? [String] ?? [])
            .filter { name in
                (try? FileManager.default.attributesOfItem(atPath: "\(contentDirectory)/\(name)")[.type]
                    as? FileAttributeType) == .typeRegular
            }
    }

    /// Returns the files of a content, complete or temporary.
    func files(of content: AnnouncedContent) -> [String] {
        let id = content.id.split(separator: "/").last.map { String($0) } ?? ""
        return contentFiles.filter { $0.contains(id) }
    }
}

/// A blocking TCP connection to a gateway, which a test can end at any point.
final class PlainConnection: Sendable {
    private let descriptor: Int32

    init(to url: String) throws {
        let port = try #require(url.split(separator: ":").last.flatMap { UInt16($0) })
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Data(text.utf8)) }

    func send(_ data: Data) throws {
        let bytes = [UInt8](data)
        #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    /// Closes the sending direction.
    func end() { shutdown(descriptor, Int32(SHUT_WR)) }
}
