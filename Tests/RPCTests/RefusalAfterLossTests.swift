// SPDX-License-Identifier: Apache-2.0

import Contracts
import StrataModel
import SwiftProtobuf
import TestTiers
import Testing

@testable import RPC

/// Refusals by a second instance, after the call was lost on its way to the first one, which may still carry it out.
@Suite("refusals after a loss")
struct RefusalAfterLossTests {
    @Test("a refusal of a write after a loss leaves its outcome unknown")
    func write() async throws {
        // Some calls were at the first instance when it died. The others were refused by the second one at once.
        #expect(
            try await codes(ConversationsAPI.sendMessage, refusal: .accessDenied) == [
                .serviceUnavailable, .accessDenied,
            ])
    }

    @Test("a refusal of a read after a loss is the answer")
    func read() async throws {
        #expect(try await codes(ConversationsAPI.getMessage, refusal: .notFound) == [.notFound])
    }

    @Test("a refusal that reports a completed write after a loss is the answer")
    func done() async throws {
        #expect(try await codes(ConversationsAPI.sendMessage, refusal: .idInUse) == [.idInUse])
    }

    @Test("an unknown method is reported as an unavailable service without effects")
    func unknownMethod() async throws {
        try await withPair(handler: CallRouter(logger: quiet).handleCall) { (client: RPCClient) async throws in
            let failure = await #expect(throws: Failure.self) {
                _ = try await client.call(ConversationsAPI.sendMessage, with: .init(), for: .within(.seconds(60)))
            }
            #expect(failure?.code == .serviceUnavailable)
        }
    }

    /// Returns the codes with which calls end when one of two instances dies with some of them pending, and the other
    /// instance refuses all.
    private func codes<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, refusal: Failure.Code
    ) async throws -> Set<Failure.Code> {
        let gate = Gate()
        let (first, firstPort) = try await startServer(handler: gate.handler)
        var router = CallRouter(logger: quiet)
        router.register(endpoint) { _, _ in throw Failure(refusal, "No.") }
        let (second, secondPort) = try await startServer(handler: router.handleCall)
        let client = startClient([firstPort, secondPort])
        try await eventually("both are connected") { client.subject.connected == 2 }
        let calls = (0..<8)
            .map { _ in
                Task { () -> Failure.Code? in
                    do throws(Failure) {
                        _ = try await client.subject.call(endpoint, with: Request(), for: .within(.seconds(60)))
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
        await gate.arrived()
        await first.kill()
        var codes: Set<Failure.Code> = []
        for call in calls { codes.insert(try #require(await call.value)) }
        await client.kill()
        await second.kill()
        return codes
    }
}
