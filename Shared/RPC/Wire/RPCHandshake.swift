// SPDX-License-Identifier: Apache-2.0

import Crypto
import NIOCore

/// 32 random bytes, used for one connection.
struct RPCNonce: Hashable, Sendable {
    static let byteCount = 32
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init?(from buffer: inout ByteBuffer) {
        guard let bytes = buffer.readBytes(length: RPCNonce.byteCount) else { return nil }
        self.bytes = bytes
    }

    static func random() -> RPCNonce {
        var generator = SystemRandomNumberGenerator()
        return RPCNonce(bytes: (0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}

/// A proof that its sender holds the cluster secret: an HMAC-SHA256 over both nonces.
struct RPCProof: Hashable, Sendable {
    static let byteCount = 32
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init?(from buffer: inout ByteBuffer) {
        guard let bytes = buffer.readBytes(length: RPCProof.byteCount) else { return nil }
        self.bytes = bytes
    }
}

/// The cluster secret and the proofs derived from it. The secret itself is never transmitted.
///
/// Each proof contains the role of its sender, so that it cannot be reflected, and both nonces, so that it is invalid
/// for other connections. Over plain TCP, this keeps out strangers. It does not prevent relaying by an attacker on the
/// path, which requires TLS.
struct RPCSecret: Sendable {
    enum Role: String {
        case client = "strata-rpc client"
        case server = "strata-rpc server"
    }

    private let key: SymmetricKey

    init(_ text: String) {
        self.key = SymmetricKey(data: Array(text.utf8))
    }

    func proof(of role: Role, version: UInt16, server: RPCNonce, client: RPCNonce) -> RPCProof {
        RPCProof(
            bytes: Array(
                HMAC<SHA256>
                    .authenticationCode(
                        for: RPCSecret.text(of: role, version: version, server: server, client: client), using: key))
        )
    }

    /// Verifies a proof in constant time.
    func accepts(_ proof: RPCProof, of role: Role, version: UInt16, server: RPCNonce, client: RPCNonce) -> Bool {
        HMAC<SHA256>
            .isValidAuthenticationCode(
                proof.bytes, authenticating: RPCSecret.text(of: role, version: version, server: server, client: client),
                using: key)
    }

    private static func text(of role: Role, version: UInt16, server: RPCNonce, client: RPCNonce) -> [UInt8] {
        Array(role.rawValue.utf8) + [0, UInt8(version >> 8), UInt8(version & 0xFF)] + server.bytes + client.bytes
    }
}

/// The server's side of the handshake: challenge, hello, welcome.
struct RPCServerHandshake {
    enum Action: Equatable {
        case welcome(RPCFrame)
        case refuse(RPCFrame, reason: String)
    }

    private let secret: RPCSecret
    private let nonce: RPCNonce
    private let service: String?

    init(secret: RPCSecret, nonce: RPCNonce, service: String? = nil) {
        self.secret = secret
        self.nonce = nonce
        self.service = service
    }

    var challenge: RPCFrame { .challenge(version: RPCFrame.protocolVersion, nonce: nonce, service: service) }

    func frameReceived(_ frame: RPCFrame) -> Action {
        guard case .hello(let version, let client, let proof) = frame else {
            return .refuse(
                .error(id: 0, code: .unauthenticated, payload: ByteBuffer()), reason: "the first frame was not a hello")
        }
        guard version == RPCFrame.protocolVersion else {
            return .refuse(
                .error(id: 0, code: .malformed, payload: ByteBuffer()), reason: "protocol version \(version)")
        }
        guard secret.accepts(proof, of: .client, version: version, server: nonce, client: client) else {
            return .refuse(.error(id: 0, code: .unauthenticated, payload: ByteBuffer()), reason: "wrong cluster secret")
        }
        return .welcome(.welcome(proof: secret.proof(of: .server, version: version, server: nonce, client: client)))
    }
}

/// The client's side of the handshake.
struct RPCClientHandshake {
    enum Action: Equatable {
        case send(RPCFrame)
        case established
        case fail(RPCError, reason: String)
    }

    private enum State {
        case awaitingChallenge
        case awaitingWelcome(server: RPCNonce)
        case done
    }

    private let secret: RPCSecret
    private let nonce: RPCNonce
    private let service: String?
    private var state = State.awaitingChallenge

    init(secret: RPCSecret, nonce: RPCNonce, service: String? = nil) {
        self.secret = secret
        self.nonce = nonce
        self.service = service
    }

    mutating func frameReceived(_ frame: RPCFrame) -> Action {
        if case .error(_, let code, _) = frame {
            state = .done
            return .fail(
                RPCError(code == .unauthenticated ? .unauthenticated : .unavailable),
                reason: "refused by the server: \(code)")
        }
        switch (state, frame) {
        case (.awaitingChallenge, .challenge(let version, let server, let other)):
            guard version == RPCFrame.protocolVersion else {
                return fail(with: .unavailable, reason: "the server speaks protocol version \(version)")
            }
            // The address may now belong to an instance of another service, which holds the same secret but has other
            // methods.
            if let service, let other, other != service {
                return fail(with: .unavailable, reason: "the server is \(other) instead of \(service)")
            }
            state = .awaitingWelcome(server: server)
            let proof = secret.proof(of: .client, version: version, server: server, client: nonce)
            return .send(.hello(version: version, nonce: nonce, proof: proof))
        case (.awaitingWelcome(let server), .welcome(let proof)):
            state = .done
            // A server without the secret must not receive requests.
            guard secret.accepts(proof, of: .server, version: RPCFrame.protocolVersion, server: server, client: nonce)
            else {
                return fail(with: .unauthenticated, reason: "the server does not have the cluster secret")
            }
            return .established
        case (.awaitingChallenge, _), (.awaitingWelcome, _), (.done, _):
            return fail(with: .unavailable, reason: "unexpected frame during the opening")
        }
    }

    private mutating func fail(with error: RPCError, reason: String) -> Action {
        state = .done
        return .fail(error, reason: reason)
    }
}
