// SPDX-License-Identifier: Apache-2.0

import Contracts
import FoundationEssentials
import NIOCore
import NetKit
import StrataModel
import SwiftProtobuf
import Synchronization
import TestTiers
import Testing

@testable import RPC

@Suite(.serialized, .timeLimit(.minutes(3)))
struct CallTests {
    @Test("a call returns the handler's answer and passes the caller's context")
    func echoes() async throws {
        let contexts = Events<RPCContext>()
        let trace = TraceID.random()
        try await withPair(handler: { context, payload in
            contexts.post(context)
            return payload
        }) { (client: RPCClient) async throws in
            let deadline = ContinuousClock.now + .seconds(60)
            let method = RPCMethod(rawValue: 777)
            #expect(
                try await client.call(method, with: ByteBuffer(string: "hello"), deadline: deadline, trace: trace)
                    == ByteBuffer(string: "hello"))
            let context = try #require(await contexts.next())
            #expect(context.method == method)
            #expect(context.trace == trace)
            #expect(context.peer.hasPrefix("127.0.0.1:"))
            #expect(abs((context.deadline - deadline).components.seconds) < 5)
            #expect(try await client.echo(ByteBuffer()) == ByteBuffer())
            #expect(client.isAvailable)
        }
    }

    @Test("ten thousand concurrent calls each get their own answer")
    func many() async throws {
        try await withPair(server: { $0.maxCallsInFlight = 10_000 }, client: { $0.maxCallsInFlight = 10_000 }) {
            (client: RPCClient) async throws in
            let right = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<10_000 {
                    group.addTask {
                        let payload = ByteBuffer(
                            repeating: UInt8(truncatingIfNeeded: number), count: 100 + number % 300)
                        return (try? await client.echo(payload)) == payload
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(right == 10_000)
        }
    }

    @Test("many concurrent answers of any length arrive complete", arguments: [255 << 10, (256 << 10) + 1, 9 << 20])
    func large(_ bytes: Int) async throws {
        try await withPair(handler: { _, payload in
            var answer = ByteBuffer(repeating: payload.getInteger(at: payload.readerIndex) ?? 0, count: bytes - 1)
            answer.writeInteger(UInt8(99))
            return answer
        }) { (client: RPCClient) async throws in
            await withTaskGroup(of: Bool.self) { group in
                for number in 1...2 as ClosedRange<UInt8> {
                    group.addTask {
                        let answer = try? await client.echo(ByteBuffer(bytes: [number]))
                        var expected = ByteBuffer(repeating: number, count: bytes - 1)
                        expected.writeInteger(UInt8(99))
                        return answer == expected
                    }
                }
                for await right in group { #expect(right) }
            }
        }
    }

    @Test("a long answer does not delay a short one")
    func overtaking() async throws {
        try await withPair(handler: { context, payload in
            context.method == echoMethod ? payload : ByteBuffer(repeating: 1, count: 16 << 20)
        }) { (client: RPCClient) async throws in
            let long = Task { () async throws in
                try await client.call(
                    .init(rawValue: 2), with: ByteBuffer(), deadline: .now + .seconds(60), trace: .random())
            }
            for _ in 0..<20 {
                #expect(try await client.echo(ByteBuffer(string: "short")) == ByteBuffer(string: "short"))
            }
            #expect(try await long.value.readableBytes == 16 << 20)
        }
    }

    @Test("answers above either side's limit and requests above the frame limit are too large, with distinct errors")
    func tooLarge() async throws {
        try await withPair(
            server: { $0.maxAnswerBytes = 1 << 20 }, client: { $0.maxAnswerBytes = 600 << 10 },
            handler: { _, payload in ByteBuffer(repeating: 1, count: payload.readableBytes * 1024) }
        ) { (client: RPCClient) async throws in
            for kilobytes in [2000, 700] {
                await #expect(throws: RPCError.answerTooLarge) {
                    try await client.echo(ByteBuffer(repeating: 0, count: kilobytes))
                }
            }
            #expect(try await client.echo(ByteBuffer(repeating: 0, count: 500)).readableBytes == 500 << 10)
            await #expect(throws: RPCError.tooLarge) { try await client.echo(ByteBuffer(repeating: 0, count: 4 << 20)) }
        }
    }

    @Test("an oversized answer is the service's failure, an oversized request the client's")
    func blame() async throws {
        let tree = try ByteBuffer(
            protobuf: ProtoConversationView.with {
                $0.conversation.metadata.leaves = [.with { $0.value = "0123456789" }]
            })
        try await withPair(server: { $0.maxAnswerBytes = tree.readableBytes - 1 }, handler: { _, _ in tree }) {
            (client: RPCClient) async throws in
            let answer = await #expect(throws: Failure.self) {
                try await client.call(
                    ConversationsAPI.getConversation, with: ProtoGetConversationRequest(), for: .within(.seconds(20)))
            }
            #expect(answer?.code == .internalServerError)
            let large = ProtoGetConversationRequest.with { $0.appID = Data(repeating: 0, count: 4 << 20) }
            let request = await #expect(throws: Failure.self) {
                try await client.call(ConversationsAPI.getConversation, with: large, for: .within(.seconds(20)))
            }
            #expect(request?.code == .invalidRequest)
        }
    }

    @Test("a request of exactly the frame limit arrives")
    func largestRequest() async throws {
        try await withPair { (client: RPCClient) async throws in
            let payload = ByteBuffer(repeating: 5, count: (4 << 20) - RPCFrame.requestOverhead)
            #expect(try await client.echo(payload) == payload)
        }
    }

    @Test("a handler's own failures arrive unchanged, and unknown errors arrive without details")
    func errors() async throws {
        struct Foreign: Error { let text = "password" }
        try await withPair(handler: { context, payload in
            switch context.method.rawValue {
            case 1: throw RPCError.application(payload)
            case 2: throw RPCError.unknownMethod
            case 3: throw CancellationError()
            default: throw Foreign()
            }
        }) { (client: RPCClient) async throws in
            let payload = ByteBuffer(string: "typed")
            let expected: [RPCError] = [.application(payload), .unknownMethod, .cancelled, .internal]
            for (method, error) in zip([1, 2, 3, 4] as [UInt16], expected) {
                await #expect(throws: error) {
                    try await client.call(
                        .init(rawValue: method), with: payload, deadline: .now + .seconds(60), trace: .random())
                }
            }
        }
    }

    @Test("the deadline ends the call and cancels the handler")
    func deadline() async throws {
        let cancelled = Events<Void>()
        let begun = Atomic<Int>(0)
        try await withPair(handler: { _, _ in
            begun.add(1, ordering: .relaxed)
            do { try await Task.sleep(for: .seconds(600)) } catch { cancelled.post(()) }
            return ByteBuffer()
        }) { (client: RPCClient) async throws in
            try await eventually("it is connected") { client.isAvailable }
            // A call that arrives too late is not started, so there is nothing to cancel.
            repeat {
                #expect(await client.failure(within: .milliseconds(100)) == .deadlineExceeded)
            } while begun.load(ordering: .relaxed) == 0
            #expect(await cancelled.next() != nil)
            #expect(await client.failure(within: .zero) == .deadlineExceeded)
        }
    }

    @Test("the callee enforces the deadline itself and starts no expired request")
    func serverDeadline() async throws {
        let calls = Events<UInt16>()
        let (server, port) = try await startServer(handler: { context, _ in
            calls.post(context.method.rawValue)
            do { try await Task.sleep(for: .seconds(600)) } catch { calls.post(100) }
            return ByteBuffer()
        })
        try await RawPeer.connect(port: port) { (peer: inout RawPeer.Session) async throws in
            guard case .welcome = try await peer.open() else { throw Unexpected() }
            let late = RPCRequestHead(method: .init(rawValue: 1), remainingMicroseconds: 0, trace: .random())
            try await peer.send(.request(id: 1, late, payload: ByteBuffer()))
            #expect(try await peer.next() == .error(id: 1, code: .deadlineExceeded, payload: ByteBuffer()))
            let short = RPCRequestHead(method: .init(rawValue: 2), remainingMicroseconds: 20_000, trace: .random())
            try await peer.send(.request(id: 2, short, payload: ByteBuffer()))
            #expect(try await peer.next() == .error(id: 2, code: .deadlineExceeded, payload: ByteBuffer()))
            #expect(await calls.next() == 2)
            #expect(await calls.next() == 100)
        }
        await server.kill()
    }

    @Test("cancelling the task ends the call at once and cancels the handler")
    func cancellation() async throws {
        let events = Events<String>()
        try await withPair(handler: { _, _ in
            events.post("started")
            do { try await Task.sleep(for: .seconds(600)) } catch { events.post("cancelled") }
            return ByteBuffer()
        }) { (client: RPCClient) async throws in
            let call = Task { await client.failure() }
            #expect(await events.next() == "started")
            call.cancel()
            #expect(await call.value == .cancelled)
            #expect(await events.next() == "cancelled")
        }
    }

    @Test("calls cancelled at any moment end, and the connection stays usable")
    func cancellationRaces() async throws {
        try await withPair { (client: RPCClient) async throws in
            await withDiscardingTaskGroup { group in
                for number in 0..<2000 {
                    group.addTask {
                        let call = Task { await client.failure() }
                        for _ in 0..<(number % 7) { await Task.yield() }
                        call.cancel()
                        let code = await call.value
                        #expect(code == nil || code == .cancelled)
                    }
                }
            }
            #expect(await client.failure() == nil)
        }
    }

    @Test("calls above the caller's limit fail at once, and completed calls free capacity")
    func clientOverload() async throws {
        let gate = Gate()
        try await withPair(client: { $0.maxCallsInFlight = 3 }, handler: gate.handler) {
            (client: RPCClient) async throws in
            let held = (0..<3).map { _ in Task { await client.failure() } }
            for _ in held { await gate.arrived() }
            #expect(await client.failure() == .overloaded)
            gate.open()
            for call in held { #expect(await call.value == nil) }
            #expect(await client.failure() == nil)
        }
    }

    @Test("calls above the callee's limit are refused, and completed calls free capacity")
    func serverOverload() async throws {
        let gate = Gate()
        try await withPair(server: { $0.maxCallsInFlight = 3 }, handler: gate.handler) {
            (client: RPCClient) async throws in
            let held = (0..<3).map { _ in Task { await client.failure() } }
            for _ in held { await gate.arrived() }
            #expect(await client.failure() == .overloaded)
            gate.open()
            for call in held { #expect(await call.value == nil) }
            #expect(await client.failure() == nil)
        }
    }

    @Test("cancelled calls free capacity when their handlers have returned")
    func placesOfCancelled() async throws {
        try await withPair(
            server: { $0.maxCallsInFlight = 8 },
            handler: { _, payload in
                try? await Task.sleep(for: .milliseconds(5))
                return payload
            }
        ) { (client: RPCClient) async throws in
            for _ in 0..<10 {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 { group.addTask { _ = await client.failure(within: .milliseconds(2)) } }
                }
            }
            try await eventually("a place is free again") { await client.failure() == nil }
            try await eventually("all places are free again") {
                await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 { group.addTask { await client.failure() == nil } }
                    return await group.allSatisfy { $0 }
                }
            }
        }
    }
}

/// A handler that holds all calls until the gate is opened.
final class Gate: Sendable {
    private let arrivals = Events<Void>()
    private let latch = Latch<Void>()

    var handler: TestHandler {
        { [arrivals, latch] _, payload in
            arrivals.post(())
            try await latch.value()
            return payload
        }
    }

    func arrived() async { _ = await arrivals.next() }
    func open() { latch.settle(.success(())) }
}
