// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// An answer of an object store that is not an object's bytes.
struct S3Answer: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: ByteBuffer

    /// The maximum size, in bytes. A list of 1000 uploads is shorter.
    private static let maxBytes = 4 << 20

    /// Reads the rest of a response.
    init(_ response: HTTPClientResponse) async throws {
        status = Int(response.status.code)
        headers = response.headers
        body = try await response.body.collect(upTo: Self.maxBytes)
    }

    /// The code of an error, such as `NoSuchUpload`. The answer to a long operation can be an error with status 200.
    var code: String? {
        let text = String(buffer: body)
        return text.contains("<Error>") ? S3XML(text).first("Code") : nil
    }

    var isSuccess: Bool { (200..<300).contains(status) && code == nil }

    /// True if the object or the upload does not exist.
    var isMissing: Bool { status == 404 && code != "NoSuchBucket" }

    /// True if all requests will fail until an operator changes something.
    var isDenied: Bool {
        let codes = ["NoSuchBucket", "AuthorizationHeaderMalformed"]
        return [301, 307, 401, 403].contains(status) || code.map { codes.contains($0) } ?? false
    }

    /// True if the same request can succeed later.
    var mayPass: Bool {
        let codes = [
            "InternalError", "OperationAborted", "ConditionalRequestConflict", "RequestTimeout", "ServiceUnavailable",
            "SlowDown",
        ]
        return [429, 500, 502, 503, 504].contains(status) || code.map { codes.contains($0) } ?? false
    }

    var reason: String { code.map { "\(status) \($0)" } ?? "\(status)" }

    /// Returns the error for an unexpected answer.
    func error(_ operation: String) -> ContentStoreError {
        let reason = "\(operation): \(reason)"
        let isFull = status == 507 || code.map { $0.contains("QuotaExceeded") || $0.contains("StorageFull") } ?? false
        return isFull ? .full(reason) : .failed(reason)
    }
}
