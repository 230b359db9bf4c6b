// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import StrataModel
import StrataWire

/// A comparison of the hand-written JSON code with Foundation's, in the same run: writing a message object of about 670
/// bytes, and reading a request.
enum WireBench {
    /// Runs all cases. Returns one line for each, with the best of several rounds in nanoseconds per object.
    static func run() -> [String] {
        let renderer = Renderer(baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org")
        let sample = Sample()
        let request = ByteBuffer(string: sample.request)
        let frame = ByteBuffer(string: sample.frame)
        let data = Data(sample.request.utf8)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let decoder = JSONDecoder()
        let object = sample.codableMessage
        let size = { () -> Int in
            var writer = JSONWriter()
            renderer.writeMessage(sample.message, for: sample.reader, version: .v2, into: &writer)
            return writer.buffer.readableBytes
        }()
        var lines = ["wire: message object of \(size) bytes, request of \(request.readableBytes) bytes"]
        lines.append(
            measure("write message, JSONWriter") {
                var writer = JSONWriter(capacity: 1024)
                renderer.writeMessage(sample.message, for: sample.reader, version: .v2, into: &writer)
                return writer.buffer.readableBytes
            })
        lines.append(measure("write message, Foundation JSONEncoder") { (try? encoder.encode(object).count) ?? 0 })
        lines.append(
            measure("read request, JSONReader to JSONValue") { (try? JSONReader.parse(request)).map { _ in 1 } ?? 0 })
        lines.append(
            measure("read request, to validated SendMessageBody") {
                guard let json = try? JSONReader.parse(request), let body = try? SendMessageBody(json, version: .v3)
                else { return 0 }
                return body.parts.count
            })
        lines.append(measure("read frame, to ClientPacket") { (try? ClientPacket(parsing: frame)).map { _ in 1 } ?? 0 })
        lines.append(
            measure("read request, Foundation JSONDecoder") {
                (try? decoder.decode(CodableRequest.self, from: data))?.parts.count ?? 0
            })
        lines += fanOut(renderer, sample)
        return lines
    }

    /// Measures one message to 1,000 sockets: one rendering, then a packet head and the counts for each socket.
    private static func fanOut(_ renderer: Renderer, _ sample: Sample) -> [String] {
        let variant = Variant(of: sample.change, for: sample.reader, version: .v3)
        let tails = renderer.tails(for: sample.change, variant: variant)
        let time = TimestampText(sample.message.sentAt)
        let values = ReaderValues(reader: sample.reader, unread: 12, total: 345)
        return [
            measure("render both packets of a message for one variant") {
                renderer.tails(for: sample.change, variant: variant).count
            },
            measure("write both packets for one socket") {
                var buffer = ByteBuffer()
                buffer.writePackets(tails, counter: 1000, timestamp: time, values: values)
                return buffer.readableBytes
            },
        ]
    }

    private static func measure(_ name: String, _ body: () -> Int) -> String {
        var sum = 0
        for _ in 0..<2000 { sum &+= body() }
        var best = Duration.seconds(1000)
        for _ in 0..<7 {
            let start = ContinuousClock.now
            for _ in 0..<5000 { sum &+= body() }
            best = min(best, ContinuousClock.now - start)
        }
        let nanoseconds = best / 5000 / Duration.nanoseconds(1)
        return "wire: \(name): \(Int(nanoseconds)) ns\(sum == 0 ? " (failed)" : "")"
    }
}

extension WireBench {
    private struct Sample {
        let reader = UserID(trusted: "ben")
        let message: Message
        let change: Change
        let request: String
        let frame: String
        let codableMessage: CodableMessage

        init() {
            let id = MessageID.random()
            let conversation = ConversationID.random()
            let part = UUID()
            let ana = BasicIdentity(userID: UserID(trusted: "ana"), displayName: "Ana Silva")
            let text = "Train leaves at 8"
            message = Message(
                id: id, conversationID: conversation, position: Position(3), ordinal: 1, sender: .user(ana),
                sentAt: Timestamp(microseconds: 1_525_426_200_125_000),
                parts: [MessagePart(id: part, mimeType: "text/plain", body: text, size: text.utf8.count)],
                recipients: [.init(userID: ana.userID, status: .read), .init(userID: reader, status: .sent)])
            change = Change(
                appID: .random(), conversationID: conversation, position: Position(3), createdAt: message.sentAt,
                actor: ana.userID, origin: nil,
                messageCount: 1, counts: [:], content: .messageCreated(id: id, ordinal: 1, message))
            let body = String(repeating: "All work and no play. ", count: 16)
            request = """
                {"parts":[{"id":"\(id.layerID)/parts/\(part.lowercaseText)","mime_type":"application/vnd.layer.text+json;role=root","body":"\(body)"}],\
                "id":"\(id.layerID)","notification":{"title":"Ana Silva","text":"Train leaves at 8","sound":"x.aiff"}}
                """
            frame = """
                {"type":"request","body":{"method":"Message.create","object_id":"\(conversation.layerID)","data":\(request),"request_id":"r4"}}
                """
            codableMessage = CodableMessage(message)
        }
    }

    private struct CodableRequest: Codable {
        struct Part: Codable {
            var id: String?
            var mime_type: String
            var body: String?
            var encoding: String?
        }
        struct Notification: Codable {
            var title: String?
            var text: String?
            var sound: String?
        }
        var id: String?
        var parts: [Part]
        var notification: Notification?
    }

    /// A message object with the same members as Strata's, and prebuilt texts.
    private struct CodableMessage: Codable {
        struct Link: Codable {
            var id: String
            var url: String
        }
        struct Part: Codable {
            var id: String
            var mime_type: String
            var body: String?
            var size: Int
        }
        struct Sender: Codable {
            var id: String
            var url: String
            var user_id: String
            var display_name: String?
            var avatar_url: String?
        }
        var id: String
        var url: String
        var receipts_url: String
        var position: Int64
        var conversation: Link
        var parts: [Part]
        var sent_at: String
        var updated_at: String?
        var sender: Sender
        var is_unread: Bool
        var recipient_status: [String: String]

        init(_ message: Message) {
            let base = "https://chat.example.org"
            id = message.id.layerID
            url = "\(base)/messages/\(message.id)"
            receipts_url = "\(url)/receipts"
            position = message.position.wireValue
            conversation = Link(
                id: message.conversationID.layerID, url: "\(base)/conversations/\(message.conversationID)")
            parts = message.parts.enumerated()
                .map { index, part in
                    Part(
                        id: "\(message.id.layerID)/parts/\(index)", mime_type: part.mimeType, body: part.body,
                        size: part.size)
                }
            sent_at = ISO8601.string(message.sentAt)
            let (user, name) =
                if case .user(let identity) = message.sender { (identity.userID, identity.displayName) } else {
                    (UserID.appServer, nil)
                }
            sender = Sender(
                id: user.layerID, url: "\(base)/identities/\(user.percentEncoded)", user_id: user.rawValue,
                display_name: name)
            is_unread = true
            recipient_status = Dictionary(
                uniqueKeysWithValues: message.recipients.map { ($0.userID.layerID, $0.status.name) })
        }
    }
}
