// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import NIOEmbedded
import ServiceKit
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway

@Suite("traces of packets", .timeLimit(.minutes(3)))
struct TraceTests {
    private static let key = UserKey(app: Fixture.app, user: Fixture.ana)

    /// Returns a text frame with a zero mask.
    private static func frame(_ text: String) -> ByteBuffer {
        var frame = ByteBuffer(bytes: [0x81, 0xff])
        frame.writeInteger(UInt64(text.utf8.count))
        frame.writeBytes([0, 0, 0, 0])
        frame.writeString(text)
        return frame
    }

    private static let request =
        "{\"type\":\"request\",\r\n\"body\":{\"request_id\":\"r\\n\",\n\"method\":\"Counter.read\"}}"

    /// Returns the waiting lines of a trace; nil after its end.
    private func lines(_ trace: PacketTrace) async throws -> [JSONValue]? {
        guard let entries = await trace.next() else { return nil }
        for entry in entries { trace.written(entry) }
        return try entries.map { entry in
            let line = String(buffer: entry.line)
            #expect(line.hasSuffix("\n") && !line.dropLast().contains { $0.isNewline })
            return try JSONReader.parse(entry.line)
        }
    }

    @Test("a trace shows the opening of sockets, the packets of both directions as they are, and the closing")
    func packets() async throws {
        let harness = try await GatewayHarness()
        let traces = TraceRegistry(loops: [harness.home])
        let early = try await harness.newSocket(of: Fixture.ana)
        let other = try await harness.newSocket(of: Fixture.ben)
        let trace = try #require(traces.begin(Self.key, for: .seconds(60)))
        await harness.loop.run()
        let late = try await harness.newSocket(of: Fixture.ana)
        let opened = try #require(try await lines(trace))
        #expect(opened.map { $0["event"]?.stringValue } == ["opened", "opened"])
        let ids = [early, late].map { String($0.socket.id, radix: 16) }
        #expect(opened.compactMap { $0["socket"]?.stringValue } == ids)

        for socket in [early, other] { try await socket.receive(Self.frame(Self.request)) }
        let both = try #require(try await lines(trace))
        #expect(both.map { $0["direction"]?.stringValue } == ["in", "out"])
        #expect(both.allSatisfy { $0["socket"]?.stringValue == ids[0] && $0["at"]?.stringValue?.count == 24 })
        #expect(both[0]["packet"] == (try JSONReader.parse(ByteBuffer(string: Self.request))))
        #expect(try await early.packets() == both[1...].compactMap { $0["packet"] })

        try await late.channel.close()
        await harness.loop.run()
        let closed = try #require(try await lines(trace))
        #expect(closed.map { $0["event"]?.stringValue } == ["closed"])
        #expect(closed[0]["socket"]?.stringValue == ids[1])
    }

    @Test("packets without a common text, and packets that are sent in pieces, are shown as they are sent")
    func renderings() async throws {
        let harness = try await GatewayHarness()
        let traces = TraceRegistry(loops: [harness.home])
        let socket = try await harness.socket(of: Fixture.ana, at: 0)
        let trace = try #require(traces.begin(Self.key, for: .seconds(60)))
        await harness.loop.run()
        _ = try await lines(trace)
        let long = MetadataEffect(
            path: MetadataPath(trusted: "long"), value: String(repeating: "x", count: Rendering.sharedBytes * 2))
        try await harness.publish(
            Fixture.change(1, .messageCreated(id: .random(), ordinal: 1, Fixture.message(1, at: 1))))
        try await harness.publish(Fixture.change(2, .metadataChanged([long])))
        let sent = try await socket.packets()
        let shown = try #require(try await lines(trace))
        #expect(sent.count >= 2 && shown.compactMap { $0["packet"] } == sent)
    }

    @Test("after its time a trace ends, and sockets record nothing")
    func end() async throws {
        let harness = try await GatewayHarness()
        let traces = TraceRegistry(loops: [harness.home])
        let socket = try await harness.newSocket(of: Fixture.ana)
        let trace = try #require(traces.begin(Self.key, for: .seconds(60)))
        let second = try #require(traces.begin(Self.key, for: .seconds(90)))
        await harness.loop.run()
        for trace in [trace, second] { #expect(try await lines(trace)?.count == 1) }
        await harness.loop.advanceTime(by: .seconds(60))
        #expect(try await lines(trace) == nil)
        try await socket.receive(Self.frame(Self.request))
        #expect(try await lines(second)?.count == 2)
        await harness.loop.advanceTime(by: .seconds(30))
        #expect(try await lines(second) == nil)
        #expect(try await harness.onLoop { $0.home.traces.isEmpty && socket.socket.traces == nil })
    }

    @Test("a gateway runs four traces; an ended one makes room, and a stopping gateway ends all")
    func limit() async throws {
        let harness = try await GatewayHarness()
        let traces = TraceRegistry(loops: [harness.home])
        let running = (0..<TraceRegistry.maximum).compactMap { _ in traces.begin(Self.key, for: .seconds(60)) }
        #expect(running.count == 4 && traces.begin(Self.key, for: .seconds(60)) == nil)
        for _ in 0..<2 { traces.end(running[0]) }
        let next = try #require(traces.begin(Self.key, for: .seconds(60)))
        traces.stop()
        for trace in running + [next] { #expect(await trace.next() == nil) }
        #expect(traces.begin(Self.key, for: .seconds(60)) == nil)
    }

    @Test("at most 1 MB waits for a slow reader; dropped entries are counted by socket, and later ones recorded")
    func slowReader() async throws {
        let trace = PacketTrace(of: Self.key)
        let packet = ByteBuffer(string: "{\"x\":\"\(String(repeating: "x", count: 99_000))\"}")
        for number in 0..<30 { trace.record(.sent(packet), of: UInt64(number % 2)) }
        let entries = try #require(await trace.next())
        let kept = entries.count { if case .sent = $0.event { true } else { false } }
        #expect(kept == 10)
        let dropped = entries.compactMap { if case .dropped(let count) = $0.event { count } else { nil } }
        #expect(dropped == [10, 10])
        // What is being written counts as waiting.
        trace.record(.opened, of: 3)
        #expect(await trace.next()?.count == 1)
        trace.record(.sent(packet), of: 1)
        #expect(await trace.next()?.count == 1)
        for entry in entries { trace.written(entry) }
        trace.record(.sent(packet), of: 1)
        guard case .sent? = await trace.next()?.first?.event else { throw CancellationError() }
    }

    @Test("a text that is no JSON is shown as a text")
    func unreadable() throws {
        for text in ["", "{", "{\"a\":1}\n{\"direction\":\"out\"}", "\u{1}\n\""] {
            let entry = PacketTrace.Entry(time: Fixture.time(0), socket: 1, event: .received(ByteBuffer(string: text)))
            #expect(try JSONReader.parse(entry.line)["packet"]?.stringValue == text)
            #expect(String(buffer: entry.line).split(separator: "\n").count == 1)
        }
    }

    private static let secret = String(repeating: "s", count: 32)

    private func refusal(
        _ app: String = "\(Fixture.app)", _ user: String = "ana", _ seconds: String = "60", isSigned: Bool = true,
        in traces: TraceRegistry = TraceRegistry(loops: [])
    ) async throws -> (status: Int, error: JSONValue?) {
        let code = TraceCode(
            app: app, user: user, seconds: seconds, clusterSecret: isSigned ? Self.secret : "another secret")
        let path = "/trace?app=\(app)&user=\(user.replacing("\n", with: "%0A"))&seconds=\(seconds)"
        let request = Request(
            head: HTTPRequest(
                method: .get, scheme: "http", authority: "gateway", path: path,
                headerFields: [.authorization: code.header()]),
            body: RequestBody(buffer: ByteBuffer()))
        let response = TraceRoute(traces: traces, clusterSecret: Self.secret).respond(to: request)
        guard response.status != .ok else { return (200, nil) }
        let written = RefusalBytes()
        try await response.body.write(written)
        return (response.status.code, try JSONReader.parse(written.bytes)["error"])
    }

    @Test("only a request with the code of the cluster secret gets an answer; wrong parameters are named")
    func route() async throws {
        #expect(try await refusal().status == 200)
        let unsigned = try await refusal("x", isSigned: false)
        #expect(unsigned.status == 401 && unsigned.error?["code"]?.stringValue == "authentication_required")
        for (answer, field) in [
            (try await refusal("x"), "app"), (try await refusal("\(Fixture.app)", ""), "user"),
            (try await refusal("\(Fixture.app)", "a\nb"), "user"),
            (try await refusal("\(Fixture.app)", "a", "0"), "seconds"),
            (try await refusal("\(Fixture.app)", "a", "601"), "seconds"),
            (try await refusal("\(Fixture.app)", "a", "x"), "seconds"),
        ] {
            #expect(answer.status == 422 && answer.error?["field"]?.stringValue == field)
            #expect(answer.error?["message"]?.stringValue?.isEmpty == false)
        }
        let traces = TraceRegistry(loops: [])
        for _ in 0..<TraceRegistry.maximum { #expect(try await refusal(in: traces).status == 200) }
        let full = try await refusal(in: traces)
        #expect(full.status == 503 && full.error?["code"]?.stringValue == "service_unavailable")
    }
}

private final class RefusalBytes: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()

    func write(_ buffer: ByteBuffer) { bytes.writeImmutableBuffer(buffer) }
    func finish(_ trailingHeaders: HTTPFields?) {}
}
