// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Where a nonce comes from: `POST /nonces` of a gateway.
struct NonceSource: Sendable {
    /// Base URL, with or without a slash at the end.
    let gateway: String

    private struct Answer: Decodable {
        let nonce: String
    }

    /// Fetches one; it can be used once, within ten minutes.
    /// - Throws: ``CommandFailure`` that names the gateway.
    func fetch() async throws -> String {
        let base = gateway.hasSuffix("/") ? String(gateway.dropLast()) : gateway
        var request = HTTPClientRequest(url: base + "/nonces")
        request.method = .POST
        request.headers.add(name: "Accept", value: "application/vnd.layer+json; version=3.0")
        let status: UInt
        let body: Data
        do {
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
            status = response.status.code
            body = Data(try await response.body.collect(upTo: 65_536).readableBytesView)
        } catch {
            throw CommandFailure(.unavailable, "The gateway at \(base) does not answer. Is it running? Try: \(OwnCommand.name) doctor")
        }
        guard status == 201, let answer = try? JSONDecoder().decode(Answer.self, from: body) else {
            throw CommandFailure(.unavailable, "The gateway at \(base) gave no nonce; it answered with status \(status).")
        }
        return answer.nonce
    }
}
