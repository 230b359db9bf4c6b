// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzValues
import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport

/// Sends nearly valid and invalid requests. Each must be answered, with a status below 500.
struct RESTFuzzer {
    var values: FuzzValues
    let targets: FuzzTargets
    let port: Int
    let tally: FuzzTally
    private var connection: RawConnection?

    init(seed: UInt64, targets: FuzzTargets, port: Int, tally: FuzzTally) {
        values = FuzzValues(seed: seed)
        (self.targets, self.port, self.tally) = (targets, port, tally)
    }

    /// The bytes of a request, and the expectations for its answer.
    private struct Message {
        var bytes: [UInt8]
        var method: String
        /// True if the bytes are no request, or have no clear end. The connection is then not reused, and may be closed
        /// without an answer.
        var isBroken = false
    }

    mutating func one() async throws {
        let message = values.generator.chance(88) ? nearlyValid() : broken()
        tally.sent()
        if message.isBroken || connection?.isClosed == true { await drop() }
        let connection = if let open = self.connection { open } else { try await RawConnection.open(port: port) }
        self.connection = connection
        await send(message.bytes, over: connection)
        switch await connection.answer(
            isBodiless: message.method == "HEAD", within: message.isBroken ? .milliseconds(150) : .seconds(30))
        {
        case .value(let answer):
            tally.saw("\(answer.status)")
            if answer.status >= 500 { fail("was answered with \(answer.status)", message, answer.body) }
            // A server that answers before the end of a request announces that it accepts no further one.
            if answer.status == 101 || answer.headers.contains(where: { $0.lowercased() == "connection: close" }) {
                await drop()
            }
        case .closed where message.isBroken: tally.saw("closed")
        case .silence where message.isBroken: tally.saw("waits for more")
        case .closed:
            // A server may close an idle connection at any time, but not all of them at once.
            tally.saw("closed unanswered")
            fail("was not answered: the connection closed", message)
        case .silence: fail("was not answered in 30 s", message)
        case .garbage(let text): fail("was answered with what is no HTTP: \(text)", message)
        }
        if message.isBroken { await drop() }
    }

    mutating func drop() async {
        await connection?.close(reset: values.generator.chance(50))
        connection = nil
    }

    private func fail(_ words: String, _ message: Message, _ body: [UInt8] = []) {
        let shown = String(decoding: message.bytes.prefix(1500), as: UTF8.self).debugDescription
        let base64 = message.bytes.count <= 3000 ? Data(message.bytes).base64EncodedString() : ""
        tally.fail("\(shown) \(words) \(String(decoding: body.prefix(300), as: UTF8.self)) [\(base64)]")
    }

    private mutating func send(_ bytes: [UInt8], over connection: RawConnection) async {
        guard values.generator.chance(10), bytes.count < 5000 else { return await connection.send(bytes) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = values.generator.int(1...max(1, min(400, rest.count)))
            await connection.send(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
    }

    // MARK: Requests

    private mutating func nearlyValid() -> Message {
        var request = values.generator.pick(targets.requests(&values))
        var headers = request.headers
        headers["Accept"] = targets.user.version.accept
        headers["Authorization"] = "Layer session-token=\"\(targets.user.token)\""
        headers["Content-Type"] = request.method == "PATCH" ? "application/vnd.layer-patch+json" : "application/json"
        var body = request.body.map { Array($0.text.utf8) } ?? []
        switch values.generator.int(0...9) {
        case 0...4: body = values.body(from: request.body)
        case 5...6: request.path = path(request.path)
        case 7: changeHeaders(&headers)
        case 8:
            request.method = values.generator.pick([
                "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PURGE", "M-SEARCH",
            ])
        default:
            changeHeaders(&headers)
            body = values.body(from: request.body)
            request.path = path(request.path)
        }
        if values.generator.chance(3) {
            headers["X-HTTP-Method-Override"] = values.generator.pick(["PATCH", "DELETE", "", "nonsense"])
        }
        let isChunked = values.generator.chance(8) && !body.isEmpty
        var head = "\(request.method) \(request.path) HTTP/1.1\r\nHost: chat.test\r\n"
        head += headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
        head += isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: \(body.count)\r\n\r\n"
        return Message(bytes: Array(head.utf8) + (isChunked ? chunked(body) : body), method: request.method)
    }

    private mutating func chunked(_ body: [UInt8]) -> [UInt8] {
        var (rest, bytes) = (body[...], [UInt8]())
        while !rest.isEmpty {
            let chunk = rest.prefix(values.generator.int(1...max(1, min(rest.count, 70_000))))
            bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8)
            rest = rest.dropFirst(chunk.count)
        }
        return bytes + Array("0\r\n\r\n".utf8)
    }

    private mutating func changeHeaders(_ headers: inout [String: String]) {
        let name = values.generator.pick([
            "Accept", "Authorization", "Content-Type", "Range", "Upload-Content-Length", "Upload-Content-Type",
            "If-None-Match", "Origin",
            "Access-Control-Request-Headers", "Cookie", "X-Junk", "client-id", "Expect", "Accept-Encoding", "Link",
        ])
        let plain = values.generator.pick([
            "", "*/*", "application/vnd.layer+json", "application/vnd.layer+json; version=1.0",
            "application/vnd.layer+json; version=3.0; q=x",
            "application/vnd.layer+json;version=99999999999999999999", "Layer session-token=\"\"",
            "Layer session-token='\(targets.user.token)'",
            "Bearer x",
            "Layer session-token=\"\(String(repeating: "a", count: 4000))\"", "text/html",
            "application/json; charset=utf-16", "multipart/form-data",
            "bytes=-1", "bytes=9-1,0-0", "-5", "18446744073709551616", "https://évil.example",
            String(repeating: "x, ", count: 1500), "100-continue",
            "gzip;q=nan",
        ])
        // An unmet expectation would change the number of answers.
        headers[name] = name == "Expect" ? "" : plain
        if values.generator.chance(10) { headers[name] = nil }
        if values.generator.chance(10) {
            for number in 0..<values.generator.int(1...60) { headers["X-Many-\(number)"] = plain }
        }
    }

    private mutating func path(_ path: String) -> String {
        var words = path
        switch values.generator.int(0...9) {
        case 0: words += "/" + values.generator.pick(["messages", "parts", "receipts", "..", "%2e%2e", "", "x", "%00"])
        case 1: words = words.replacingOccurrences(of: "-", with: values.generator.pick(["", "--", "%2D", "g"]))
        case 2: words = words.uppercased()
        case 3: words += (words.contains("?") ? "&" : "?") + query()
        case 4: words = "/" + String(repeating: "a", count: values.generator.pick([1, 200, 4000, 7000]))
        case 5: words = words.replacingOccurrences(of: "=", with: values.generator.pick(["", "==", "=%", "=%ff%fe"]))
        case 6: words = "/" + words
        case 7: words = String(words.dropLast(values.generator.int(1...10)))
        case 8:
            words = words.replacingOccurrences(
                of: "/", with: "%2F", options: [], range: words.index(after: words.startIndex)..<words.endIndex)
        default: words = words.split(separator: "?")[0] + "?" + query()
        }
        words = words.filter { !$0.isWhitespace }
        return words.hasPrefix("/") ? words : "/" + words
    }

    private mutating func query() -> String {
        let name = values.generator.pick([
            "page_size", "from_id", "sort_by", "messages", "ids", "mode", "leave", "destroy", "session_token", "client",
            "%", "a[]", "",
        ])
        let value = values.generator.pick([
            "", "0", "-1", "1e9", "99999999999999999999", "abc", "%", "%zz", "%00", "layer:///messages/x",
            "layer%3A%2F%2F%2Fconversations%2F",
            "true", "created_at",
            "all_participants", "my_devices", "last_message", "unread", values.generator.uuid(),
            String(repeating: "9", count: 500),
            "\u{feff}".utf8.map { "%" + String($0, radix: 16) }.joined(),
        ])
        return "\(name)=\(value)" + (values.generator.chance(20) ? "&\(name)=\(value)" : "")
    }

    // MARK: Invalid requests

    private mutating func broken() -> Message {
        let good =
            "POST /conversations HTTP/1.1\r\nHost: x\r\nAccept: \(targets.user.version.accept)\r\nAuthorization: Layer session-token=\"\(targets.user.token)\"\r\n"
        let text: String
        switch values.generator.int(0...15) {
        case 0: return Message(bytes: values.bytes(values.generator.int(1...2000)), method: "?", isBroken: true)
        case 1:
            text =
                good + "X: " + String(repeating: "h", count: values.generator.pick([9_000, 90_000, 300_000]))
                + "\r\n\r\n"
        case 2: text = good + (0..<values.generator.pick([200, 3000])).map { "X-\($0): y\r\n" }.joined() + "\r\n"
        case 3: text = good + "Content-Length: 10\r\nContent-Length: 11\r\n\r\n0123456789"
        case 4: text = good + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        case 5: text = good + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx"
        case 6:
            text =
                good
                + "Content-Length: \(values.generator.pick(["-1", "abc", "18446744073709551617", "99999999999"]))\r\n\r\nx"
        case 7: text = "GET / HTTP/\(values.generator.pick(["0.9", "1.0", "2.0", "9.9", "x"]))\r\n\r\n"
        case 8: text = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0"
        case 9: text = "GET http://elsewhere.example/conversations HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
        case 10: text = good + " folded\r\n\tmore\r\nName with space: x\r\nNo colon\r\n\r\n"
        case 11: text = String(repeating: "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n", count: 200)
        case 12: text = good + "Content-Length: 100\r\n\r\n{\"participants\""
        case 13:
            text =
                "GET /?session_token=\(targets.user.token) HTTP/1.1\r\nHost: x\r\n" + values.generator.pick(upgrades)
                + "\r\n"
        case 14: text = "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}"
        default:
            let valid = nearlyValid()
            return Message(bytes: values.mutated(valid.bytes), method: "?", isBroken: true)
        }
        return Message(bytes: Array(text.utf8), method: "?", isBroken: true)
    }

    private let upgrades = [
        "Connection: Upgrade\r\nUpgrade: websocket\r\n",
        "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 12\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: layer-3.0\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: !\r\nSec-WebSocket-Protocol: layer-3.0\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: x, y, layer-1.0\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: 5\r\n",
    ]
}
