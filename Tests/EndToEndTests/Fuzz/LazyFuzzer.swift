// SPDX-License-Identifier: Apache-2.0

import FuzzValues
import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport

/// Opens connections that send little or stop halfway: single bytes, requests and frames that never end, half-closed
/// connections. Some are kept for a while. All are dropped in the end, with or without a close handshake.
struct LazyFuzzer {
    var values: FuzzValues
    let targets: FuzzTargets
    let port: Int
    let tally: FuzzTally
    private var kept: [(connection: RawConnection, rest: ArraySlice<UInt8>)] = []

    private static let most = 12

    init(seed: UInt64, targets: FuzzTargets, port: Int, tally: FuzzTally) {
        values = FuzzValues(seed: seed)
        (self.targets, self.port, self.tally) = (targets, port, tally)
    }

    mutating func one() async throws {
        tally.sent()
        if kept.count < Self.most {
            let connection = try await RawConnection.open(port: port)
            kept.append((connection, words()[...]))
        }
        for index in kept.indices {
            await kept[index].connection.send(Array(kept[index].rest.prefix(1)))
            kept[index].rest = kept[index].rest.dropFirst()
        }
        let index = values.generator.int(0...(kept.count - 1))
        switch values.generator.int(0...5) {
        case 0: await kept[index].connection.halfClose()
        case 1...2:
            await kept[index].connection.close(reset: values.generator.chance(50))
            tally.saw(kept[index].connection.isClosed ? "lazy, dropped" : "lazy, not dropped")
            kept.remove(at: index)
        default:
            let piece = kept[index].rest.prefix(values.generator.int(1...200))
            await kept[index].connection.send(Array(piece))
            kept[index].rest = kept[index].rest.dropFirst(piece.count)
        }
    }

    mutating func drop() async {
        for (connection, _) in kept { await connection.close(reset: values.generator.chance(50)) }
        kept = []
    }

    private mutating func words() -> [UInt8] {
        let head =
            "Host: x\r\nAccept: \(targets.user.version.accept)\r\nAuthorization: Layer session-token=\"\(targets.user.token)\"\r\n"
        let upgrade =
            "GET /?session_token=\(targets.user.token) HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: \(targets.user.version.subprotocol)\r\n\r\n"
        let packet = Array(values.generator.pick(targets.packets(&values)).text.utf8)
        switch values.generator.int(0...5) {
        case 0: return Array("GET /conversations HTTP/1.1\r\n\(head)".utf8)
        case 1:
            return Array("POST /conversations HTTP/1.1\r\n\(head)Content-Length: 500\r\n\r\n{\"participants\": [".utf8)
        case 2:
            return Array(
                "POST \(layerPath(targets.conversation))/messages HTTP/1.1\r\n\(head)Transfer-Encoding: chunked\r\n\r\n40\r\n{\"parts"
                    .utf8)
        case 3: return Array(upgrade.utf8) + SocketFuzzer.encode(1, packet).dropLast(values.generator.int(1...8))
        case 4: return Array(upgrade.utf8) + SocketFuzzer.encode(1, packet, isFinal: false)
        default: return Array(upgrade.utf8) + SocketFuzzer.encode(1, packet)
        }
    }
}
