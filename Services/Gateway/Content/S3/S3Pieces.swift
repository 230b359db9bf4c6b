// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NetKit

/// The bytes of a range of an object. A broken answer is continued with another request.
struct S3Pieces: ContentPieces {
    private let client: S3Client
    private let key: String
    private var rest: Range<Int>
    private var attempts: S3Attempts
    /// The answer that is being read.
    private var answer: HTTPClientResponse.Body.AsyncIterator?

    init(_ client: S3Client, key: String, range: Range<Int>) {
        self.client = client
        self.key = key
        rest = range
        attempts = S3Attempts(client.patience)
    }

    mutating func next() async throws -> ByteBuffer? {
        while !rest.isEmpty {
            var failure: any Error = ContentStoreError.brokenOff
            do {
                if let piece = try await read() { return piece }
            } catch let error as ContentStoreError {
                throw error
            } catch {
                try Task.checkCancellation()
                failure = error
            }
            answer = nil
            guard await client.pause(&attempts, after: failure) else {
                try Task.checkCancellation()
                throw ContentStoreError.failed("get: \(failure)")
            }
        }
        return nil
    }

    /// Reads a piece of the answer.
    /// - Returns: nil at the end of the answer.
    private mutating func read() async throws -> ByteBuffer? {
        if answer == nil { answer = try await client.get(key, rest).body.makeAsyncIterator() }
        guard let piece = try await answer?.next(isolation: #isolation) else { return nil }
        guard piece.readableBytes <= rest.count else {
            throw ContentStoreError.failed("get: more bytes than were requested")
        }
        rest = rest.lowerBound + piece.readableBytes..<rest.upperBound
        attempts = S3Attempts(client.patience)
        client.report(true)
        return piece
    }
}

extension S3Client {
    /// Requests a range of an object, and waits for the beginning of the answer.
    /// - Throws: ``ContentStoreError`` if the store refuses the request; any other error may pass.
    fileprivate func get(_ key: String, _ range: Range<Int>) async throws -> HTTPClientResponse {
        var request = Request(operation: "get", method: .GET, key: key)
        request.headers["range"] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
        let message = message(for: request, payloadHash: AWSSignature.hash([]))
        let response = try await downloads.client().execute(message, deadline: .now() + patience.answer.timeAmount)
        guard response.status == .partialContent else {
            let answer = try await S3Answer(response)
            if answer.mayPass { throw TemporaryRefusal(description: answer.reason) }
            throw ContentStoreError.failed("get: \(answer.reason)")
        }
        guard response.headers.first(name: "content-range")?.hasPrefix("bytes \(range.lowerBound)-") == true else {
            throw ContentStoreError.failed("get: other bytes than were requested")
        }
        return response
    }

    private struct TemporaryRefusal: Error, CustomStringConvertible {
        let description: String
    }
}
