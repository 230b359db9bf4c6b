// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import NIOPosix
import ProtocolClient
import StrataModel

/// A socket that is opened for a few seconds, to send some frames and to show what comes.
struct SocketTrial: Sendable {
    struct Request: Decodable, Sendable {
        let session: String
        let frames: [String]
        let seconds: Int?

        func check() throws(Failure) {
            _ = try SessionText.checked(session)
            guard frames.count <= 20 else { throw .invalid("frames", reason: "must be at most 20") }
            if let seconds, !(1...10).contains(seconds) { throw .invalid("seconds", reason: "must be 1 to 10") }
        }
    }

    private struct Packet {
        let direction: String
        let at: Date
        /// JSON.
        let text: String
    }

    let gatewayURL: String
    /// The maximum number of packets in an answer. The first ones are shown.
    private static let limit = 1000

    /// Returns `{"packets": [{"direction", "at", "packet"}], "closed": {"code", "reason"}}`.
    /// - Throws: the gateway's refusal, as `invalid_operation`.
    func run(_ request: Request) async throws(Failure) -> ByteBuffer {
        do {
            let client = try ProtocolClient(baseURL: gatewayURL)
            do {
                let answer = try await exchange(request, client)
                try? await client.shutdown()
                return answer
            } catch {
                try? await client.shutdown()
                throw error
            }
        } catch let error as ProtocolClientError where error.code == .refused {
            throw Failure(
                .invalidOperation,
                "The gateway refused the socket: \(error.answer?.errorID ?? "\(error.answer?.status ?? 0)").")
        } catch {
            throw .unavailable
        }
    }

    private func exchange(_ request: Request, _ client: ProtocolClient) async throws -> ByteBuffer {
        let deadline = ContinuousClock.now + .seconds(request.seconds ?? 3)
        let socket = try await client.openSocket(sessionToken: request.session, deadline: deadline)
        var packets: [Packet] = []
        for frame in request.frames {
            packets.append(Packet(direction: "out", at: Date(), text: Self.json(frame)))
            try? await socket.sendText(frame)
        }
        let closure = try? await socket.waitForClose(deadline: deadline)
        let (now, time) = (ContinuousClock.now, Date())
        packets += socket.history.prefix(Self.limit)
            .map { packet in
                let age = (now - packet.receivedAt) / .seconds(1)
                return Packet(direction: "in", at: time.addingTimeInterval(-age), text: packet.json.text)
            }
        await socket.close(deadline: .now + .seconds(1))
        packets.sort { $0.at < $1.at }
        return Self.answer(packets, closure)
    }

    /// Returns a frame as JSON: itself if it is JSON, otherwise as a text.
    private static func json(_ frame: String) -> String {
        (try? JSONValue(parsing: frame))?.text ?? JSONValue.string(frame).text
    }

    private static func answer(_ packets: [Packet], _ closure: SocketClosure?) -> ByteBuffer {
        let lines = packets.map {
            #"{"direction":"\#($0.direction)","at":"\#($0.at.iso8601)","packet":\#($0.text)}"#
        }
        var text = #"{"packets":[\#(lines.joined(separator: ","))]"#
        if let closure {
            let reason = JSONValue.string(closure.reason ?? "").text
            text += #","closed":{"code":\#(closure.code.map { "\($0)" } ?? "null"),"reason":\#(reason)}"#
        }
        return ByteBuffer(string: text + "}")
    }
}
