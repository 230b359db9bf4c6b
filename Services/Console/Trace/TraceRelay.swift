// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import ServiceKit
import StrataModel

/// The traces of one user's sockets at all gateways, as one stream of lines.
struct TraceRelay: Sendable {
    let client: InternalClient
    /// The admin ports of the gateways.
    let gateways: [InstanceName]
    let secret: Secret<String>
    /// The longest line that is passed on, in bytes: a packet of 4 MB with its frame.
    private static let longestLine = 5 << 20

    struct Subject: Sendable {
        let app: AppID
        let user: UserID
        let seconds: Int
    }

    private struct Gateway: Encodable {
        let address: String
        var error: String?
    }

    private struct Nothing: Encodable {}

    /// Sends the lines of all gateways to the queue, until all traces have ended.
    func run(_ subject: Subject, to queue: EventQueue) async {
        await withTaskGroup(of: Void.self) { group in
            for name in gateways {
                guard let addresses = try? await name.addresses() else {
                    queue.send(ServerEvent("gateway", Gateway(address: "\(name.endpoint)", error: "unknown name")))
                    continue
                }
                for address in addresses { group.addTask { await trace(subject, at: "\(address)", to: queue) } }
            }
        }
        queue.send(ServerEvent("end", Nothing()))
    }

    private func trace(_ subject: Subject, at address: String, to queue: EventQueue) async {
        var outcome = Gateway(address: address)
        let code = TraceCode(
            app: "\(subject.app)", user: subject.user.rawValue, seconds: "\(subject.seconds)",
            clusterSecret: secret.value)
        do {
            let response = try await client.send(
                "GET", "http://\(address)/trace?\(Self.query(subject))",
                headers: ["Authorization": code.header()], isStream: true, timeout: .seconds(5))
            guard response.status == .ok else {
                outcome.error = "it answered \(response.status.code)"
                queue.send(ServerEvent("gateway", outcome))
                return
            }
            queue.send(ServerEvent("gateway", outcome))
            try await relay(response.body, to: queue)
        } catch {
            outcome.error = error is Failure ? "it does not answer" : "the trace broke off"
            queue.send(ServerEvent("gateway", outcome))
        }
    }

    private struct Dropped: Encodable {
        let event = "dropped"
        let at = Date()
        let count: Int
    }

    private func relay(_ body: HTTPClientResponse.Body, to queue: EventQueue) async throws {
        var lines = LineSplitter(limit: Self.longestLine)
        var dropped = 0
        for try await part in body {
            for line in lines.add(part) {
                if dropped > 0, queue.send(ServerEvent("packet", Dropped(count: dropped))) { dropped = 0 }
                if dropped > 0 || !queue.send(ServerEvent("packet", json: line)) { dropped += 1 }
            }
        }
    }

    static func query(_ subject: Subject) -> String {
        "app=\(subject.app)&user=\(subject.user.percentEncoded)&seconds=\(subject.seconds)"
    }
}

/// A splitter of a stream into lines. Lines that are too long are left out.
struct LineSplitter: Sendable {
    private let limit: Int
    private var rest = ByteBuffer()
    /// True if the current line is too long.
    private var isSkipping = false

    init(limit: Int) { self.limit = limit }

    /// Adds bytes and returns the lines that they complete, without empty ones.
    mutating func add(_ part: ByteBuffer) -> [ByteBuffer] {
        var part = part
        var lines: [ByteBuffer] = []
        while let end = part.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
            guard var line = part.readSlice(length: end - part.readerIndex) else { break }
            part.moveReaderIndex(forwardBy: 1)
            rest.writeBuffer(&line)
            if !isSkipping, rest.readableBytes > 0, rest.readableBytes <= limit { lines.append(rest) }
            (rest, isSkipping) = (ByteBuffer(), false)
        }
        if isSkipping || rest.readableBytes + part.readableBytes > limit {
            (rest, isSkipping) = (ByteBuffer(), true)
        } else {
            rest.writeBuffer(&part)
        }
        return lines
    }
}
