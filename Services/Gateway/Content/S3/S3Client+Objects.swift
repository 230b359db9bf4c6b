// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import StrataModel

/// A multipart upload that is neither completed nor aborted.
struct S3Upload: Hashable, Comparable, Sendable {
    let key: String
    let id: String
    let startedAt: Timestamp

    /// Orders uploads by the time of their beginning, and those of the same moment by their ids.
    static func < (a: S3Upload, b: S3Upload) -> Bool { (a.startedAt, a.id) < (b.startedAt, b.id) }
}

extension S3Client {
    /// Asks whether the store serves the bucket. A list is requested because its refusal has an error code.
    func check() async throws(ContentStoreError) {
        let query = ["list-type": "2", "max-keys": "1", "prefix": location.prefix]
        let answer = try await send(Request(operation: "list objects", method: .GET, query: query))
        guard answer.isSuccess else { throw answer.error("list objects") }
    }

    // MARK: Objects

    /// Stores an object, unless one with this key exists.
    func put(_ key: String, headers: [String: String], body: ByteBuffer) async throws(ContentStoreError) {
        let headers = headers.merging(["if-none-match": "*"]) { $1 }
        let answer = try await send(
            Request(operation: "put", method: .PUT, key: key, headers: headers, body: body))
        guard answer.isSuccess || answer.status == 412 else { throw answer.error("put") }
    }

    /// Returns the type and the size of an object; nil if it does not exist.
    func head(_ key: String) async throws(ContentStoreError) -> (type: String, size: Int)? {
        let answer = try await send(Request(operation: "head", method: .HEAD, key: key))
        if answer.isMissing { return nil }
        let length = answer.headers.first(name: "content-length").flatMap { Int($0) }
        guard answer.isSuccess, let size = length, size >= 0 else { throw answer.error("head") }
        return (answer.headers.first(name: "content-type") ?? "", size)
    }

    /// Removes an object, if it exists.
    func delete(_ key: String) async throws(ContentStoreError) {
        let answer = try await send(Request(operation: "delete", method: .DELETE, key: key))
        guard answer.isSuccess || answer.isMissing else { throw answer.error("delete") }
    }

    // MARK: Multipart uploads

    /// Begins an upload in parts.
    /// - Returns: the upload's id.
    func beginUpload(of key: String, headers: [String: String]) async throws(ContentStoreError) -> String {
        let answer = try await send(
            Request(
                operation: "create upload", method: .POST, key: key, query: ["uploads": ""], headers: headers))
        guard answer.isSuccess, let id = S3XML(String(buffer: answer.body)).first("UploadId"), !id.isEmpty else {
            throw answer.error("create upload")
        }
        return id
    }

    /// Uploads one part.
    /// - Parameter number: the number of the part; the first is 1.
    /// - Returns: the part's entity tag, which ``complete(_:of:tags:)`` needs.
    /// - Throws: `superseded` if the upload was aborted.
    func putPart(
        _ number: Int, of upload: String, to key: String, body: ByteBuffer
    ) async throws(ContentStoreError) -> String {
        let query = ["partNumber": "\(number)", "uploadId": upload]
        let answer = try await send(
            Request(operation: "put part", method: .PUT, key: key, query: query, body: body))
        if answer.code == "NoSuchUpload" { throw .superseded }
        guard answer.isSuccess, let tag = answer.headers.first(name: "etag") else { throw answer.error("put part") }
        return tag
    }

    /// Makes an object of the parts, unless one with this key exists.
    /// - Throws: `superseded` if the upload was aborted or already completed, or if the object exists.
    func complete(_ upload: String, of key: String, tags: [String]) async throws(ContentStoreError) {
        let parts = tags.enumerated()
            .map { "<Part><PartNumber>\($0.offset + 1)</PartNumber><ETag>\(S3XML.escaped($0.element))</ETag></Part>" }
        let xml = """
            <CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">\(parts.joined())\
            </CompleteMultipartUpload>
            """
        let answer = try await send(
            Request(
                operation: "complete upload", method: .POST, key: key, query: ["uploadId": upload],
                headers: ["if-none-match": "*"], body: ByteBuffer(string: xml)))
        if answer.status == 412 || answer.code == "NoSuchUpload" { throw .superseded }
        guard answer.isSuccess else { throw answer.error("complete upload") }
    }

    /// Discards an upload and its parts, if it exists.
    func abort(_ upload: String, of key: String) async throws(ContentStoreError) {
        let answer = try await send(
            Request(operation: "abort upload", method: .DELETE, key: key, query: ["uploadId": upload]))
        guard answer.isSuccess || answer.isMissing else { throw answer.error("abort upload") }
    }

    /// Returns all uploads in parts whose keys begin with a prefix.
    func uploads(withPrefix prefix: String) async throws(ContentStoreError) -> [S3Upload] {
        var found: [S3Upload] = []
        var query = ["uploads": "", "prefix": prefix]
        while true {
            let answer = try await send(Request(operation: "list uploads", method: .GET, query: query))
            guard answer.isSuccess else { throw answer.error("list uploads") }
            let list = S3XML(String(buffer: answer.body))
            found += list.all("Upload").compactMap { S3Upload($0) }
            var next = query
            next["key-marker"] = list.first("NextKeyMarker")
            next["upload-id-marker"] = list.first("NextUploadIdMarker")
            // A page that leads to itself would be read again and again.
            guard list.first("IsTruncated") == "true", next != query else { return found }
            query = next
        }
    }
}

extension S3Upload {
    fileprivate init?(_ xml: S3XML) {
        guard let key = xml.first("Key"), let id = xml.first("UploadId") else { return nil }
        (self.key, self.id) = (key, id)
        // An upload of an unknown age counts as new, so that it is not removed.
        startedAt = ISO8601.parse(xml.first("Initiated") ?? "") ?? Timestamp(microseconds: .max)
    }
}
