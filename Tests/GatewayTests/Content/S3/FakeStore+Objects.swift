// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

@testable import Gateway

extension FakeStore {
    /// Performs a request.
    func answer(_ request: FakeRequest) -> Answer {
        state.withLock { state in
            switch request.operation {
            case .check: Answer()
            case .list: state.list(request.query)
            case .put: state.put(Object(body: request.body, headers: request.head.headers), for: request)
            case .head: state.head(request.key)
            case .get: state.get(request.key, range: request.head.headers.first(name: "range") ?? "")
            case .delete: state.delete(request.key)
            case .create: state.create(request)
            case .part: state.putPart(request)
            case .complete: state.complete(request)
            case .abort: state.abort(request.query["uploadId"] ?? "")
            }
        }
    }
}

extension FakeStore.State {
    typealias Answer = FakeStore.Answer

    private static func tag(of body: ByteBuffer) -> String {
        "\"\(AWSSignature.hash(body.readableBytesView).prefix(32))\""
    }

    mutating func put(_ object: FakeStore.Object, for request: FakeRequest) -> Answer {
        guard objects[request.key] == nil || request.head.headers.first(name: "if-none-match") != "*" else {
            return .error(412, "PreconditionFailed")
        }
        objects[request.key] = object
        return Answer(headers: ["etag": Self.tag(of: object.body)])
    }

    func head(_ key: String) -> Answer {
        guard let object = objects[key] else { return Answer(status: 404) }
        var answer = Answer(headers: ["content-length": "\(object.body.readableBytes)"])
        if let type = object.headers.first(name: "content-type") {
            answer.headers.add(name: "content-type", value: type)
        }
        return answer
    }

    func get(_ key: String, range: String) -> Answer {
        guard let object = objects[key] else { return .error(404, "NoSuchKey") }
        let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        guard ends.count == 2, let body = object.body.getSlice(at: ends[0], length: ends[1] - ends[0] + 1) else {
            return .error(416, "InvalidRange")
        }
        let length = object.body.readableBytes
        return Answer(status: 206, headers: ["content-range": "bytes \(ends[0])-\(ends[1])/\(length)"], body: body)
    }

    mutating func delete(_ key: String) -> Answer {
        objects[key] = nil
        return Answer(status: 204)
    }

    // MARK: Multipart uploads

    mutating func create(_ request: FakeRequest) -> Answer {
        let id = add(FakeStore.Upload(key: request.key, startedAt: Date(), headers: request.head.headers))
        return Answer(body: ByteBuffer(string: "<Result><UploadId>\(id)</UploadId></Result>"))
    }

    @discardableResult
    mutating func add(_ upload: FakeStore.Upload) -> String {
        created += 1
        let id = String(format: "upload+%04d", created)
        uploads[id] = upload
        return id
    }

    mutating func putPart(_ request: FakeRequest) -> Answer {
        guard let id = request.query["uploadId"], uploads[id] != nil,
            let number = Int(request.query["partNumber"] ?? "")
        else { return .error(404, "NoSuchUpload") }
        uploads[id]?.parts[number] = request.body
        return Answer(headers: ["etag": Self.tag(of: request.body)])
    }

    mutating func complete(_ request: FakeRequest) -> Answer {
        let id = request.query["uploadId"] ?? ""
        guard let upload = uploads[id] else { return .error(404, "NoSuchUpload") }
        var body = ByteBuffer()
        for part in S3XML(String(buffer: request.body)).all("Part") {
            guard let bytes = part.first("PartNumber").flatMap({ Int($0) }).flatMap({ upload.parts[$0] }),
                part.first("ETag") == Self.tag(of: bytes)
            else { return .error(400, "InvalidPart") }
            body.writeImmutableBuffer(bytes)
        }
        let answer = put(FakeStore.Object(body: body, headers: upload.headers), for: request)
        if answer.status == 200 { uploads[id] = nil }
        return answer
    }

    mutating func abort(_ id: String) -> Answer {
        guard uploads.removeValue(forKey: id) != nil else { return .error(404, "NoSuchUpload") }
        return Answer(status: 204)
    }

    func list(_ query: [String: String]) -> Answer {
        let all = uploads.filter { $0.value.key.hasPrefix(query["prefix"] ?? "") }
            .sorted { ($0.value.key, $0.key) < ($1.value.key, $1.key) }
        let marker = (query["key-marker"] ?? "", query["upload-id-marker"] ?? "")
        let rest = all.filter { ($0.value.key, $0.key) > marker }
        let page = rest.prefix(FakeStore.pageSize)
        let entries = page.map { id, upload in
            let time = upload.startedAt.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            return """
                <Upload><Key>\(upload.key)</Key><UploadId>\(id)</UploadId><Initiated>\(time)</Initiated></Upload>
                """
        }
        let next = page.last.map { id, upload in
            "<NextKeyMarker>\(upload.key)</NextKeyMarker><NextUploadIdMarker>\(id)</NextUploadIdMarker>"
        }
        let body = """
            <List><IsTruncated>\(rest.count > page.count)</IsTruncated>\(next ?? "")\(entries.joined())</List>
            """
        return Answer(body: ByteBuffer(string: body))
    }
}
