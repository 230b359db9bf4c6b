// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import StrataModel
import Synchronization
import Testing

@testable import Console

@Suite("streams of the console", .timeLimit(.minutes(2)))
struct StreamTests {
    private func text(_ event: ServerEvent) -> String { String(buffer: event.bytes) }

    @Test("an event has a type and one line of data")
    func events() {
        #expect(text(ServerEvent("typing", ["user": "ana"])) == "event: typing\ndata: {\"user\":\"ana\"}\n\n")
        #expect(text(.ping).hasPrefix(":"))
    }

    @Test("a queue admits one event of any size, and drops what a browser that does not read would keep waiting")
    func queue() {
        let queue = EventQueue()
        let large = ServerEvent("packet", json: ByteBuffer(repeating: 0x20, count: EventQueue.limit + 1))
        #expect(queue.send(large))
        #expect(!queue.send(.ping))
    }

    private func change(_ content: Change.Content, by actor: String? = "ana") -> String {
        let change = Change(
            appID: .random(), conversationID: .random(), position: Position(7), createdAt: Timestamp(microseconds: 0),
            actor: actor.map { UserID(trusted: $0) }, origin: nil, messageCount: 1, counts: [:], content: content)
        return String(buffer: ConsoleJSON.encode(LiveChange(change)))
    }

    @Test("changes have the form of the report")
    func changes() throws {
        let message = MessageID.random()
        let created = change(.messageCreated(id: message, ordinal: 1, nil), by: nil)
        let members = [#""kind":"message_created""#, #""actor":"""#, #""message_id":"\#(message)""#, #""position":7"#]
        for member in members { #expect(created.contains(member)) }
        #expect(!created.contains("operations"))
        let metadata = change(
            .metadataChanged([
                MetadataEffect(path: MetadataPath(trusted: "a.b"), value: "x"),
                MetadataEffect(path: MetadataPath(trusted: "c"), value: nil),
            ]))
        #expect(metadata.contains(#""path":"a.b""#) && metadata.contains(#""value":"x""#))
        #expect(metadata.contains(#""value":null"#))
        let read = change(.allRead(user: UserID(trusted: "bob"), upTo: Position(5), audience: nil))
        #expect(read.contains(#""up_to":5"#))
        #expect(read.contains(#""user":"bob""#))
        let receipt = Change.Receipt(
            user: UserID(trusted: "bob"), messageID: message, ordinal: 1, status: .read, sender: nil)
        #expect(change(.receipts([receipt])).contains(#""status":"read""#))
    }

    @Test("lines are put together from any parts; those that are too long are left out")
    func lines() {
        for size in 1...12 {
            var splitter = LineSplitter(limit: 5)
            var (found, rest) = ([String](), Substring("ab\n\ncde\n1234567\nfghij\nk"))
            while !rest.isEmpty {
                found += splitter.add(ByteBuffer(string: String(rest.prefix(size)))).map { String(buffer: $0) }
                rest = rest.dropFirst(size)
            }
            #expect(found == ["ab", "cde", "fghij"], "in parts of \(size)")
        }
    }

    @Test("a request for a trace escapes the user")
    func query() throws {
        let app = AppID.random()
        let subject = TraceRelay.Subject(app: app, user: UserID(trusted: "ana&b"), seconds: 60)
        #expect(TraceRelay.query(subject) == "app=\(app)&user=ana%26b&seconds=60")
    }

    @Test("an app's token is made once, renewed, and made anew after a refusal or a failure")
    func serverTokens() async throws {
        let made = Atomic(0)
        let fails = Atomic(false)
        let tokens = ServerTokens { (_) throws(Failure) in
            if fails.load(ordering: .relaxed) { throw Failure.unavailable }
            return "token \(made.wrappingAdd(1, ordering: .relaxed).newValue)"
        }
        let (app, now) = (AppID.random(), ContinuousClock.now)
        async let (first, second) = (tokens.token(for: app, now: now), tokens.token(for: app, now: now))
        #expect(try await (first, second) == ("token 1", "token 1"))
        #expect(try await tokens.token(for: .random(), now: now) == "token 2")
        #expect(try await tokens.token(for: app, now: now + ServerTokens.renewal) == "token 3")
        await tokens.discard("token 1", of: app)
        #expect(try await tokens.token(for: app, now: now) == "token 3")
        await tokens.discard("token 3", of: app)
        fails.store(true, ordering: .relaxed)
        await #expect(throws: Failure.self) { try await tokens.token(for: app, now: now) }
        fails.store(false, ordering: .relaxed)
        #expect(try await tokens.token(for: app, now: now) == "token 4")
    }
}
