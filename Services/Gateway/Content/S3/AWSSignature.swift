// SPDX-License-Identifier: Apache-2.0
import Crypto
import FoundationEssentials
import ServiceKit
import StrataModel

/// AWS Signature Version 4 for S3. It signs requests by their headers, and URLs for clients by their query.
struct AWSSignature: Sendable {
    /// The signed parts of a request. Path and query are not percent-encoded.
    struct Request: Sendable {
        let method: String
        /// The value of the `Host` header.
        let host: String
        let path: String
        var query: [String: String] = [:]
        /// The signed headers except `host`, with lower-case names.
        var headers: [String: String] = [:]
    }

    let accessKey: String
    let secretKey: Secret<String>
    let region: String

    private static let algorithm = "AWS4-HMAC-SHA256"

    /// Returns the headers of a request, with those that sign it.
    /// - Parameters:
    ///   - payloadHash: the body's SHA-256 in hexadecimal digits. The store refuses a body with another hash.
    ///   - time: the time of signing. Stores refuse requests signed more than 15 minutes ago.
    func headers(for request: Request, payloadHash: String, at time: Timestamp) -> [String: String] {
        var signed = request
        signed.headers["x-amz-content-sha256"] = payloadHash
        signed.headers["x-amz-date"] = Self.text(of: time)
        let signature = signature(of: Self.canonical(signed, payloadHash: payloadHash), at: time)
        signed.headers["authorization"] =
            "\(Self.algorithm) Credential=\(accessKey)/\(scope(at: time)), "
            + "SignedHeaders=\(Self.names(of: signed)), Signature=\(signature)"
        return signed.headers
    }

    /// Returns the percent-encoded query of a URL that permits the request.
    /// - Parameters:
    ///   - lifetime: seconds from `time`, at most 604,800.
    ///   - time: the time of signing.
    func presignedQuery(for request: Request, lifetime: Int, at time: Timestamp) -> String {
        var signed = request
        signed.query["X-Amz-Algorithm"] = Self.algorithm
        signed.query["X-Amz-Credential"] = "\(accessKey)/\(scope(at: time))"
        signed.query["X-Amz-Date"] = Self.text(of: time)
        signed.query["X-Amz-Expires"] = "\(lifetime)"
        signed.query["X-Amz-SignedHeaders"] = Self.names(of: request)
        let signature = signature(of: Self.canonical(signed, payloadHash: "UNSIGNED-PAYLOAD"), at: time)
        return "\(Self.encoded(signed.query))&X-Amz-Signature=\(signature)"
    }

    // MARK: Steps

    static func canonical(_ request: Request, payloadHash: String) -> String {
        let headers = request.headers.merging(["host": request.host]) { $1 }
            .sorted { $0.key < $1.key }
            .map { "\($0.key):\($0.value)\n" }
        let lines = [
            request.method, encoded(request.path, keeping: "/"), encoded(request.query), headers.joined(),
            names(of: request), payloadHash,
        ]
        return lines.joined(separator: "\n")
    }

    private func signature(of canonical: String, at time: Timestamp) -> String {
        let lines = [Self.algorithm, Self.text(of: time), scope(at: time), Self.hash(canonical.utf8)]
        var key = Self.code(of: String(Self.text(of: time).prefix(8)), with: Array("AWS4\(secretKey.value)".utf8))
        for step in [region, "s3", "aws4_request"] { key = Self.code(of: step, with: key) }
        return Self.hex(Self.code(of: lines.joined(separator: "\n"), with: key))
    }

    private func scope(at time: Timestamp) -> String { "\(Self.text(of: time).prefix(8))/\(region)/s3/aws4_request" }

    private static func names(of request: Request) -> String {
        (request.headers.keys + ["host"]).sorted().joined(separator: ";")
    }

    private static func code(of text: String, with key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key)))
    }

    // MARK: Texts

    /// Returns the SHA-256 of bytes in hexadecimal digits.
    static func hash(_ bytes: some Sequence<UInt8>) -> String {
        var hash = SHA256()
        if bytes.withContiguousStorageIfAvailable({ hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }) == nil {
            hash.update(data: Array(bytes))
        }
        return hex(hash.finalize())
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns a percent-encoded query with sorted names. A name without a value ends with `=`, as it is signed.
    static func encoded(_ query: [String: String]) -> String {
        query.map { (name: encoded($0.key), value: encoded($0.value)) }
            .sorted { $0.name < $1.name }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }

    /// Returns a percent-encoded text. Only letters, digits, `-`, `.`, `_`, `~` and `kept` stay as they are.
    static func encoded(_ text: String, keeping kept: Character? = nil) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                [byte]
            case kept?.asciiValue: [byte]
            default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a time as `20130524T000000Z`.
    static func text(of time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.microseconds / 1_000_000))
            .formatted(
                Date.ISO8601FormatStyle(
                    dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted, timeZone: .gmt))
    }
}
