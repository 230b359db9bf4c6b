// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NetKit

extension S3Client {
    /// Passes the bytes of a range to `receive`, in order. The next piece is read after it returns. A broken answer is
    /// continued with another request.
    /// - Throws: ``ContentStoreError``; any error of `receive`; `CancellationError`.
    func read(_ key: String, _ range: Range<Int>, to receive: (ByteBuffer) async throws -> Void) async throws {
        var offset = range.lowerBound
        var attempts = S3Attempts(patience)
        while offset < range.upperBound {
            var reason = "the answer ended too early"
            let begin = offset
            do {
                let response = try await open(key, offset..<range.upperBound)
                for try await piece in response.body {
                    guard piece.readableBytes <= range.upperBound - offset else {
                        throw ContentStoreError.failed("get: more bytes than were requested")
                    }
                    do { try await receive(piece) } catch { throw ReceiverError(error: error) }
                    offset += piece.readableBytes
                }
                if offset == range.upperBound { return report(true) }
            } catch let error as ReceiverError {
                throw error.error
            } catch let error as ContentStoreError {
                throw error
            } catch {
                try Task.checkCancellation()
                reason = "\(error)"
            }
            if offset > begin { attempts = S3Attempts(patience) }
            guard await pause(&attempts) else {
                try Task.checkCancellation()
                throw ContentStoreError.failed("get: \(reason)")
            }
        }
    }

    /// Requests a range and waits for the beginning of the answer.
    /// - Throws: ``ContentStoreError`` if the store refuses the request; any other error may pass.
    private func open(_ key: String, _ range: Range<Int>) async throws -> HTTPClientResponse {
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

    /// An error of the caller's `receive`, as opposed to one of the store.
    private struct ReceiverError: Error {
        let error: any Error
    }

    private struct TemporaryRefusal: Error, CustomStringConvertible {
        let description: String
    }
}
