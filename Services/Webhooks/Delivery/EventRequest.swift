// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import NIOCore
import NIOHTTP1
import StrataModel
import StrataWire

/// The request that delivers an event. Every attempt sends the same bytes.
struct EventRequest {
    let headers: HTTPHeaders
    let body: ByteBuffer

    /// - Parameters:
    ///   - key: the key of the signature.
    ///   - renderer: the renderer with the public base URL.
    init(_ event: WebhookEvent, to webhook: Webhook, signedWith key: SymmetricKey, renderer: Renderer) {
        let version: ServerVersion =
            switch webhook.version {
            case .v1: .v1
            case .v2: .v2
            case .v3: .v3
            }
        var writer = JSONWriter()
        ServerRenderer(renderer.withBasePath("/apps/\(webhook.app)"), version: version)
            .writeEvent(event, for: webhook.version, config: webhook.config, into: &writer)
        body = writer.buffer
        headers = [
            "content-type": "application/vnd.layer.webhooks+json; version=\(webhook.version.rawValue)",
            "user-agent": "layer-webhooks/\(webhook.version.rawValue)",
            "layer-webhook-id": webhook.id.layerID(in: webhook.app),
            "layer-webhook-request-id": event.id.uuidString.lowercased(),
            "layer-webhook-event-type": event.kind.name(in: webhook.version),
            "layer-webhook-signature": Self.signature(of: body, with: key),
        ]
    }

    /// Returns the signature that receivers of the protocol verify: HMAC with SHA-1 of the body, in lower-case
    /// hexadecimal digits.
    static func signature(of body: ByteBuffer, with key: SymmetricKey) -> String {
        let code = HMAC<Insecure.SHA1>.authenticationCode(for: Data(body.readableBytesView), using: key)
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
