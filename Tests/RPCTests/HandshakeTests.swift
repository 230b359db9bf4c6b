// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RPC

struct HandshakeTests {
    let server = RPCServerHandshake(secret: RPCSecret(secret), nonce: .random())

    func client(_ text: String = secret) -> RPCClientHandshake {
        RPCClientHandshake(secret: RPCSecret(text), nonce: .random())
    }

    @Test("two sides with the same secret open the connection")
    func opens() throws {
        var client = client()
        guard case .send(let hello) = client.frameReceived(server.challenge) else { throw Unexpected() }
        guard case .welcome(let welcome) = server.frameReceived(hello) else { throw Unexpected() }
        #expect(client.frameReceived(welcome) == .established)
    }

    @Test("a client with another secret is refused")
    func wrongSecret() throws {
        var client = client("some other secret, just as long as the right one")
        guard case .send(let hello) = client.frameReceived(server.challenge) else { throw Unexpected() }
        #expect(
            server.frameReceived(hello)
                == .refuse(.error(id: 0, code: .unauthenticated, payload: ByteBuffer()), reason: "wrong cluster secret")
        )
    }

    @Test("a proof made for another connection is refused")
    func replay() throws {
        var client = client()
        guard case .send(let hello) = client.frameReceived(server.challenge) else { throw Unexpected() }
        let other = RPCServerHandshake(secret: RPCSecret(secret), nonce: .random())
        guard case .refuse = other.frameReceived(hello) else { throw Unexpected() }
    }

    @Test("a server that sends the client's own proof back is refused")
    func reflection() throws {
        var client = client()
        guard case .send(.hello(_, _, let proof)) = client.frameReceived(server.challenge) else { throw Unexpected() }
        #expect(
            client.frameReceived(.welcome(proof: proof))
                == .fail(.unauthenticated, reason: "the server does not have the cluster secret"))
    }

    @Test("another protocol version is refused by both sides")
    func version() throws {
        var client = client()
        guard case .fail(.unavailable, _) = client.frameReceived(.challenge(version: 2, nonce: .random())) else {
            throw Unexpected()
        }
        let hello = RPCFrame.hello(version: 2, nonce: .random(), proof: RPCProof(bytes: Array(repeating: 0, count: 32)))
        #expect(
            server.frameReceived(hello)
                == .refuse(.error(id: 0, code: .malformed, payload: ByteBuffer()), reason: "protocol version 2"))
    }

    @Test(
        "a client that expects a service refuses a server of another; an unknown or unspecified service is accepted",
        arguments: [
            ("conversations", "metadata", false), ("conversations", "", false),
            ("conversations", "conversations", true),
            ("conversations", nil, true),
            (nil, "metadata", true), (nil, nil, true),
        ] as [(String?, String?, Bool)])
    func service(_ wanted: String?, _ offered: String?, _ isTaken: Bool) throws {
        let server = RPCServerHandshake(secret: RPCSecret(secret), nonce: .random(), service: offered)
        var client = RPCClientHandshake(secret: RPCSecret(secret), nonce: .random(), service: wanted)
        let action = client.frameReceived(server.challenge)
        if isTaken {
            guard case .send = action else { throw Unexpected() }
        } else {
            #expect(action == .fail(.unavailable, reason: "the server is \(offered ?? "") instead of conversations"))
        }
    }

    @Test("a service name that does not fit the handshake is omitted")
    func longService() throws {
        let challenge = RPCServerHandshake(
            secret: RPCSecret(secret), nonce: .random(), service: String(repeating: "s", count: 65)
        )
        .challenge
        var reader = RPCFrameReader()
        reader.append(ByteBuffer(bytes: FrameTests.bytes(challenge)))
        guard case .challenge(_, _, nil) = try reader.next(limit: RPCFrame.handshakeLimit) else { throw Unexpected() }
        let longest = RPCServerHandshake(
            secret: RPCSecret(secret), nonce: .random(), service: String(repeating: "s", count: 64)
        )
        .challenge
        reader.append(ByteBuffer(bytes: FrameTests.bytes(longest)))
        #expect(try reader.next(limit: RPCFrame.handshakeLimit) == longest)
    }

    @Test(
        "any first message except a hello is refused",
        arguments: FrameTests.frames.filter { if case .hello = $0 { false } else { true } })
    func notAHello(_ frame: RPCFrame) throws {
        #expect(
            server.frameReceived(frame)
                == .refuse(
                    .error(id: 0, code: .unauthenticated, payload: ByteBuffer()),
                    reason: "the first frame was not a hello"))
    }

    @Test(
        "a client accepts no message out of order",
        arguments: FrameTests.frames.filter { if case .challenge = $0 { false } else { true } })
    func outOfTurn(_ frame: RPCFrame) throws {
        var client = client()
        guard case .fail = client.frameReceived(frame) else { throw Unexpected() }
    }
}

struct Unexpected: Error {}
