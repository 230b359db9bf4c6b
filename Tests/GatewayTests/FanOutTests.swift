// SPDX-License-Identifier: Apache-2.0
import Contracts
import NIOCore
import NIOEmbedded
import StrataModel
import StrataWire
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

@Suite(.timeLimit(.minutes(3)))
struct FanOutTests {
    private let id = Fixture.conversation

    @Test("positions 5 and 6 published in the wrong order reach every socket in order, once")
    func wrongOrder() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.publish(Fixture.change(6))
        #expect(try await socket.positions() == [])
        try await harness.publish(Fixture.change(5))
        #expect(try await socket.positions() == [5, 6])
        #expect(harness.log.state.withLock { $0.reads } == 0)
    }

    @Test("a lost publication is read from the log after the gap patience, and not before")
    func lost() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        harness.log.append(Fixture.change(5), Fixture.change(6))
        try await harness.publish(Fixture.change(6))
        await harness.loop.advanceTime(by: .milliseconds(99))
        #expect(harness.log.state.withLock { $0.reads } == 0)
        await harness.loop.advanceTime(by: .milliseconds(1))
        try await harness.until { $0.registry.conversations[Fixture.conversation]?.last == Position(6) }
        #expect(try await socket.positions() == [5, 6])
    }

    @Test("during a gap no packet has a later time than it, and afterwards time continues")
    func floor() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.publish(Fixture.change(6))
        let floor = try await harness.onLoop { $0.registry.gapFloor }
        #expect(floor == Fixture.change(6).createdAt)
        harness.log.append(Fixture.change(5), Fixture.change(6))
        await harness.loop.advanceTime(by: .milliseconds(100))
        try await harness.until { $0.registry.gapFloor == nil }
        #expect(try await socket.positions() == [5, 6])
    }

    @Test("a failed repair is retried until the service is back")
    func repairAgain() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        harness.log.append(Fixture.change(5), Fixture.change(6))
        harness.log.state.withLock { $0.isAway = true }
        try await harness.publish(Fixture.change(6))
        await harness.loop.advanceTime(by: .milliseconds(100))
        try await harness.until { harness in
            harness.log.state.withLock { $0.reads } == 1
                && harness.fanOut.conversations[Fixture.conversation]?.feed.isRepairing == false
        }
        harness.log.state.withLock { $0.isAway = false }
        await harness.loop.advanceTime(by: .milliseconds(250))
        try await harness.until { $0.registry.conversations[Fixture.conversation]?.last == Position(6) }
        #expect(try await socket.positions() == [5, 6])
    }

    @Test("a head reveals a change whose publication was lost and that no change follows")
    func heads() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        harness.log.append(Fixture.change(5))
        harness.log.state.withLock {
            $0.heads = Heads(
                conversations: [(Fixture.conversation, Position(5))], added: [], users: [], asOf: Fixture.time(10))
        }
        await harness.loop.advanceTime(by: .seconds(17))
        try await harness.until { $0.fanOut.conversations[Fixture.conversation]?.feed.target == Position(5) }
        await harness.loop.advanceTime(by: .milliseconds(250))
        try await harness.until { $0.registry.conversations[Fixture.conversation]?.last == Position(5) }
        #expect(try await socket.positions() == [5])
    }

    @Test("heads are requested at once when pub/sub is back")
    func recovery() async throws {
        let harness = try await GatewayHarness()
        _ = try await harness.socket(of: Fixture.ben, at: 4)
        harness.log.state.withLock { $0.heads = Heads(conversations: [], added: [], users: [], asOf: Fixture.time(10)) }
        try await harness.onLoop { $0.fanOut.subscriberDidRecover() }
        try await harness.until { $0.fanOut.heads.reconciler.since == Fixture.time(10) }
        // The services reconnect to Redis later, and their publications until then are lost.
        harness.log.state.withLock { $0.heads?.asOf = Fixture.time(11) }
        await harness.loop.advanceTime(by: .milliseconds(1125))
        try await harness.until { $0.fanOut.heads.reconciler.since == Fixture.time(11) }
        #expect(try await harness.onLoop { $0.fanOut.heads.reconciler.mistrustedUntil } != nil)
    }

    @Test("a socket that joins behind the others is refused until it has read as far as they have")
    func joinBehind() async throws {
        let harness = try await GatewayHarness()
        let first = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.publish(Fixture.change(5))
        let late = try await harness.socket(of: Fixture.ana, at: 4)
        #expect(try await harness.onLoop { $0.registry.conversations[Fixture.conversation]?.members.count } == 1)
        try await harness.publish(Fixture.change(6))
        #expect(try await first.positions() == [5, 6])
        #expect(try await late.positions() == [])
    }

    @Test("a socket that read further than the others does not receive these changes again")
    func joinAhead() async throws {
        let harness = try await GatewayHarness()
        let first = try await harness.socket(of: Fixture.ben, at: 4)
        let ahead = try await harness.socket(of: Fixture.ana, at: 6)
        for position in Int64(5)...7 { try await harness.publish(Fixture.change(position)) }
        #expect(try await first.positions() == [5, 6, 7])
        #expect(try await ahead.positions() == [7])
    }

    @Test("a removed user receives the removal and no later change")
    func removed() async throws {
        let harness = try await GatewayHarness()
        let ana = try await harness.socket(of: Fixture.ana, at: 4)
        let ben = try await harness.socket(of: Fixture.ben, at: 4)
        let removal = Change.Content.participantsChanged(
            added: [], removed: [Fixture.ben], distinctCleared: false, conversation: nil)
        try await harness.publish(Fixture.change(5, removal))
        try await harness.publish(Fixture.change(6))
        #expect(try await ana.positions() == [5, 6])
        #expect(try await ben.positions() == [5])
    }

    @Test("a socket whose client half-closed without a close frame is closed at once, before a ping times out")
    func halfClosed() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ana, at: 1)
        socket.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        await harness.loop.run()
        #expect(try await harness.onLoop { _ in !socket.socket.isOpen })
    }

    @Test("a socket writes nothing after a close frame")
    func closed() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.onLoop { _ in socket.socket.close(.goingAway) }
        try await harness.publish(Fixture.change(5))
        await harness.loop.run()
        var bytes = ByteBuffer()
        while let part = try await socket.channel.readOutbound(as: ByteBuffer.self) { bytes.writeImmutableBuffer(part) }
        #expect(bytes.getInteger(at: 0, as: UInt8.self) == 0x88)
        // The frame contains its code and reason, with the announced length, and nothing else.
        let length = try #require(bytes.getInteger(at: 1, as: UInt8.self))
        #expect(bytes.readableBytes == 2 + Int(length))
    }

    @Test("a gateway that was cut off for too long closes its sockets so that they replay")
    func cutOff() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        await harness.loop.advanceTime(by: .seconds(200))
        harness.log.state.withLock { $0.heads = Heads(conversations: [], added: [], users: [], asOf: Fixture.time(10)) }
        while try await harness.onLoop({ _ in socket.socket.isOpen }) {
            try Task.checkCancellation()
            await harness.loop.advanceTime(by: .seconds(1))
            await Task.yield()
        }
    }

    @Test("a gateway unsubscribes from the channels when the last socket has closed")
    func released() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.onLoop { $0.registry.endJoining([Fixture.conversation]) }
        #expect(
            harness.channels.subscribed.withLock { $0 } == [
                Channels.conversation(id), Channels.user(app: Fixture.app, user: Fixture.ben),
            ])
        try await socket.channel.close()
        await harness.loop.run()
        #expect(harness.channels.subscribed.withLock { $0.isEmpty })
    }

    @Test("users whose ids differ only in normalization have separate channels")
    func normalization() async throws {
        let harness = try await GatewayHarness()
        let (composed, decomposed) = (UserID(trusted: "caf\u{e9}"), UserID(trusted: "cafe\u{301}"))
        let socket = try await harness.socket(of: composed, at: 4)
        _ = try await harness.socket(of: decomposed, at: 4)
        #expect(harness.channels.subscribed.withLock { $0.count } == 3)
        try await socket.channel.close()
        await harness.loop.run()
        #expect(harness.channels.subscribed.withLock { $0.contains(Channels.user(app: Fixture.app, user: decomposed)) })
        #expect(
            Channels.presence(app: Fixture.app, user: composed) != Channels.presence(app: Fixture.app, user: decomposed)
        )
    }

    @Test(
        "a message and its conversation's update are sent together, numbered consecutively, with each reader's own count"
    )
    func message() async throws {
        let harness = try await GatewayHarness()
        let ana = try await harness.socket(of: Fixture.ana, at: 4)
        let ben = try await harness.socket(of: Fixture.ben, at: 4)
        let message = Fixture.message(1, at: 5)
        var change = Fixture.change(5, .messageCreated(id: message.id, ordinal: 1, message))
        change.messageCount = 1
        change.counts = [Fixture.ana: UserCounts(excluded: 1, hidden: 0, position: Position(5))]
        try await harness.publish(change)
        let (sender, reader) = (try await ana.packets(), try await ben.packets())
        #expect(sender.map { $0["counter"]?.integerValue } == [0, 1])
        #expect(reader.map { $0["counter"]?.integerValue } == [0, 1])
        #expect(reader.map { $0["body"]?["operation"]?.stringValue } == ["create", "update"])
        #expect(sender[0]["body"]?["data"]?["is_unread"]?.boolValue == false)
        #expect(reader[0]["body"]?["data"]?["is_unread"]?.boolValue == true)
        let unread = reader[1]["body"]?["data"]?.arrayValue?
            .first { $0["property"]?.stringValue == "unread_message_count" }
        #expect(unread?["value"]?.integerValue == 1)
    }

    @Test("the response to a create precedes the change it caused, also when the change is faster")
    func responseFirst() async throws {
        let harness = try await GatewayHarness()
        let ana = try await harness.socket(of: Fixture.ana, at: 4)
        let request = SocketRequest(number: 7, packet: ClientPacket.Request(id: "r7", method: "Message.create"))
        try await harness.onLoop { _ in
            ana.socket.requests.append(create: request)
            _ = ana.socket.requests.nextCreate()
        }
        let message = Fixture.message(1, at: 5)
        var change = Fixture.change(5, .messageCreated(id: message.id, ordinal: 1, message))
        change.origin = Change.Origin(connection: ana.socket.id, request: 7)
        try await harness.publish(change)
        let packets = try await ana.packets()
        #expect(packets.map { $0["type"]?.stringValue } == ["response", "change", "change"])
        #expect(packets.first?["body"]?["request_id"]?.stringValue == "r7")
        #expect(try await harness.onLoop { _ in ana.socket.requests.answerable(7) == nil })
    }

    @Test("typing reaches other users only, and the gateway ends it when its signals stop")
    func typing() async throws {
        let harness = try await GatewayHarness()
        let ana = try await harness.socket(of: Fixture.ana, at: 4)
        let ben = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.onLoop { harness in
            harness.services.identities.remember(BasicIdentity(userID: Fixture.ana), in: Fixture.app)
            harness.fanOut.typingPublished(
                TypingSignal(conversationID: Fixture.conversation, user: Fixture.ana, action: .started),
                goodFor: .seconds(90))
        }
        #expect(try await ana.packets().isEmpty)
        #expect(try await actions(ben) == ["started"])
        // The presence service defines how long the signal is valid.
        for _ in 0..<89 { await harness.loop.advanceTime(by: .seconds(1)) }
        #expect(try await actions(ben) == [])
        for _ in 0..<2 { await harness.loop.advanceTime(by: .seconds(1)) }
        #expect(try await actions(ben) == ["finished"])
    }

    @Test("a typing signal without a validity period expires after 25 seconds")
    func typingOfOlderService() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.onLoop { harness in
            harness.services.identities.remember(BasicIdentity(userID: Fixture.ana), in: Fixture.app)
            harness.fanOut.typingPublished(
                TypingSignal(conversationID: Fixture.conversation, user: Fixture.ana, action: .paused), goodFor: nil)
        }
        for _ in 0..<24 { await harness.loop.advanceTime(by: .seconds(1)) }
        #expect(try await actions(ben) == ["paused"])
        for _ in 0..<2 { await harness.loop.advanceTime(by: .seconds(1)) }
        #expect(try await actions(ben) == ["finished"])
    }

    @Test("a message ends the typing of its announced sender, and of no other user")
    func messageEndsTyping() async throws {
        let harness = try await GatewayHarness()
        _ = try await harness.socket(of: Fixture.ben, at: 4)
        func send(_ ordinal: Int64, at position: Int64) async throws {
            let message = Fixture.message(ordinal, at: position)
            try await harness.publish(
                Fixture.change(position, .messageCreated(id: message.id, ordinal: ordinal, message)))
        }
        try await send(1, at: 5)
        #expect(harness.log.state.withLock { $0.typingEnds } == [])
        try await harness.onLoop { harness in
            harness.fanOut.typingPublished(
                TypingSignal(conversationID: Fixture.conversation, user: Fixture.ana, action: .started),
                goodFor: .seconds(90))
        }
        try await send(2, at: 6)
        // A second message does not repeat the request, which is on its way.
        try await send(3, at: 7)
        #expect(harness.log.state.withLock { $0.typingEnds } == [Fixture.ana])
        try await harness.onLoop { harness in
            harness.fanOut.typingPublished(
                TypingSignal(conversationID: Fixture.conversation, user: Fixture.ana, action: .finished), goodFor: nil)
        }
        try await send(4, at: 8)
        #expect(harness.log.state.withLock { $0.typingEnds } == [Fixture.ana])
    }

    private func actions(_ socket: TestSocket) async throws -> [String?] {
        try await socket.packets().map { $0["body"]?["data"]?["action"]?.stringValue }
    }
}
