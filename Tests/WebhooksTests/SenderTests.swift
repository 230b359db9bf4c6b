// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import StrataModel
import Synchronization
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import Webhooks

/// The HTTP client, against real receivers.
@Suite("requests to receivers", .timeLimit(.minutes(2)))
struct SenderTests {
    private static let app = AppID.random()
    private static let interrupted = "interrupted"
    private static let local = AddressPolicy(allowed: [AddressBlock("127.0.0.0/8")].compactMap { $0 })

    private func with(
        _ policy: AddressPolicy = local, timeout: Duration = .seconds(20), trusted: [NIOSSLCertificate] = [],
        names: NameLookup = NameLookup(),
        receiver: WebhookReceiver,
        _ body: (HTTPSender) async throws -> Void
    ) async throws {
        let sender = HTTPSender(
            policy: policy, timeout: timeout, connectionsPerHost: 4, trustedRoots: trusted,
            group: MultiThreadedEventLoopGroup.singleton,
            names: names)
        do { try await body(sender) } catch {
            await sender.shutDown()
            await receiver.stop()
            throw error
        }
        await sender.shutDown()
        await receiver.stop()
    }

    private func post(_ sender: HTTPSender, _ url: String) async throws -> HTTPSender.Answer {
        let target = try TargetURL(url, allowsHTTP: true)
        return try await sender.send(
            .POST, target.text, to: target, of: Self.app, headers: [:], body: ByteBuffer(string: "{}"))
    }

    private func problem(_ sender: HTTPSender, _ url: String) async throws -> String? {
        do {
            _ = try await post(sender, url)
            return nil
        } catch HTTPSender.Problem.failed(let reason) {
            return reason
        } catch HTTPSender.Problem.interrupted {
            return Self.interrupted
        }
    }

    @Test("any status is returned, a redirect is not followed, and an endless body does no harm")
    func statuses() async throws {
        let receiver = try await WebhookReceiver.start()
        receiver.set(.answer(500), for: "/500")
        receiver.set(.answer(307, location: receiver.url("/other")), for: "/307")
        receiver.set(.endlessBody, for: "/endless")
        receiver.set(.unfinishedBody, for: "/unfinished")
        receiver.set(.close, for: "/closes")
        try await with(receiver: receiver) { (sender: HTTPSender) async throws -> Void in
            #expect(try await post(sender, receiver.url("/good")).status == 200)
            #expect(try await post(sender, receiver.url("/500")).status == 500)
            #expect(try await post(sender, receiver.url("/307")).status == 307)
            #expect(try await post(sender, receiver.url("/endless")).status == 200)
            #expect(try await post(sender, receiver.url("/unfinished")).status == 202)
            #expect(receiver.events(at: "/other").isEmpty)
            #expect(
                try await problem(sender, receiver.url("/closes"))
                    == "the receiver closed the connection before it answered")
        }
    }

    @Test("a receiver that does not answer is limited by the timeout")
    func hanging() async throws {
        let receiver = try await WebhookReceiver.start()
        receiver.set(.hang, for: "/hangs")
        try await with(timeout: .milliseconds(200), receiver: receiver) { (sender: HTTPSender) async throws -> Void in
            let reason = try await problem(sender, receiver.url("/hangs"))
            #expect(
                reason == "no answer came within 200 ms" || reason == "no answer came in time", "\(reason ?? "nil")")
        }
    }

    @Test("a silent name server takes no longer than a receiver, and one thread per name")
    func slowNames() async throws {
        let receiver = try await WebhookReceiver.start()
        let asked = Mutex(0)
        let isOver = DispatchSemaphore(value: 0)
        let names = NameLookup { _ in
            asked.withLock { $0 += 1 }
            isOver.wait()
            return []
        }
        try await with(timeout: .milliseconds(200), names: names, receiver: receiver) {
            (sender: HTTPSender) async throws -> Void in
            let reasons = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<40 { group.addTask { try await self.problem(sender, "http://slow.invalid/") } }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(reasons == ["the target's name was not resolved within 200 ms"])
            #expect(asked.withLock { $0 } == 1)
            isOver.signal()
        }
    }

    @Test("a request at the end of the service is interrupted, which is no verdict about the receiver")
    func shutDown() async throws {
        let receiver = try await WebhookReceiver.start()
        let sender = HTTPSender(
            policy: Self.local, timeout: .seconds(20), connectionsPerHost: 4, trustedRoots: [],
            group: MultiThreadedEventLoopGroup.singleton)
        await sender.shutDown()
        #expect(try await problem(sender, receiver.url("/")) == Self.interrupted)
        #expect(receiver.events(at: "/").isEmpty)
        await receiver.stop()
    }

    @Test("a shutdown before a name lookup, or before the request, is no verdict about the receiver")
    func shutDownMeanwhile() async throws {
        let receiver = try await WebhookReceiver.start()
        let names = NameLookup()
        try await with(names: names, receiver: receiver) { (sender: HTTPSender) async throws -> Void in
            await names.shutDown()
            #expect(try await problem(sender, "http://example.test/") == Self.interrupted)
        }
        #expect(HTTPSender.problem(for: HTTPClientError.alreadyShutdown) == .interrupted)
    }

    @Test("an app's concurrent name lookups are limited, and other apps' names are still looked up")
    func namesOfAnApp() async throws {
        let asked = Mutex(0)
        let isOver = DispatchSemaphore(value: 0)
        let address = try #require(IPAddress("127.0.0.1"))
        let names = NameLookup { host in
            asked.withLock { $0 += 1 }
            if host.hasPrefix("slow") { isOver.wait() }
            return [address]
        }
        let slow = (0..<NameLookup.mostOfApp)
            .map { number in Task { await names.addresses(of: "slow\(number).test", for: Self.app) } }
        try await eventually { asked.withLock { $0 } >= NameLookup.mostOfApp }
        #expect(await names.addresses(of: "quick.test", for: Self.app) == .notAsked)
        #expect(await names.addresses(of: "127.0.0.1", for: Self.app) == .found([address]))
        #expect(await names.addresses(of: "quick.test", for: .random()) == .found([address]))
        let receiver = try await WebhookReceiver.start()
        try await with(names: names, receiver: receiver) { (sender: HTTPSender) async throws -> Void in
            #expect(try await problem(sender, receiver.url("/", host: "quick.test")) == Self.interrupted)
            #expect(receiver.events(at: "/").isEmpty)
            for _ in slow { isOver.signal() }
            for lookup in slow { #expect(await lookup.value == .found([address])) }
            #expect(try await post(sender, receiver.url("/", host: "quick.test")).status == 200)
        }
    }

    @Test("a name that cannot be resolved is not looked up again at once")
    func unknownName() async throws {
        let asked = Mutex(0)
        let names = NameLookup { _ in
            asked.withLock { $0 += 1 }
            throw NameResolution.UnknownName()
        }
        for _ in 0..<3 { #expect(await names.addresses(of: "gone.invalid", for: Self.app) == .unknown) }
        #expect(asked.withLock { $0 } == 1)
        let address = try #require(IPAddress("127.0.0.1"))
        #expect(await names.addresses(of: "127.0.0.1", for: Self.app) == .found([address]))
        await names.shutDown()
    }

    @Test("if the first address of a name has no server, the next request uses the second")
    func addresses() async throws {
        let receiver = try await WebhookReceiver.start()
        let addresses = try ["127.0.0.2", "127.0.0.1"].map { try #require(IPAddress($0)) }
        try await with(names: NameLookup { _ in addresses }, receiver: receiver) {
            (sender: HTTPSender) async throws -> Void in
            let url = receiver.url("/good", host: "two.test")
            #expect(try await problem(sender, url) == "the receiver could not be reached")
            #expect(try await post(sender, url).status == 200)
        }
    }

    @Test("names of private addresses, and ports without a server, are not called")
    func refused() async throws {
        let receiver = try await WebhookReceiver.start()
        let gone = receiver.url("/")
        try await with(AddressPolicy(allowed: []), receiver: receiver) { (sender: HTTPSender) async throws -> Void in
            for host in ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "127.1"] {
                #expect(
                    try await problem(sender, receiver.url("/", host: host))?.contains("is not called") == true,
                    "\(host)")
            }
            #expect(receiver.events(at: "/").isEmpty)
            #expect(
                try await problem(sender, "http://no-such-host.invalid/") == "the target's name could not be resolved")
        }
        let other = try await WebhookReceiver.start()
        try await with(receiver: other) { (sender: HTTPSender) async throws -> Void in
            #expect(try await problem(sender, gone) == "the receiver could not be reached")
        }
    }

    @Test(
        "a failure reason is the end of a sentence, and a status has the protocol's wording",
        arguments: [
            (.status(404, "Not Found"), "due to unexpected response status: 404 Not Found"),
            (.status(299, ""), "due to unexpected response status: 299"),
            (.clause("the target's name could not be resolved"), "because the target's name could not be resolved."),
            (
                .clause("the target cannot be called: The property target_url must begin with https://."),
                "because the target cannot be called: The property target_url must begin with https://."
            ),
        ] as [(ReceiverFault, String)])
    func causes(_ fault: ReceiverFault, _ cause: String) { #expect(fault.cause == cause) }

    @Test("every request error is a clause that can follow \"because\"")
    func clauses() {
        let errors: [any Error] = [
            HTTPClientError.connectTimeout, HTTPClientError.deadlineExceeded, HTTPClientError.remoteConnectionClosed,
            HTTPClientError.tlsHandshakeTimeout,
            HTTPClientError.emptyHost, IOError(errnoCode: 111, reason: "connect"), NIOSSLError.uncleanShutdown,
            HTTPParserError.invalidVersion,
        ]
        for error in errors {
            guard case .failed(let clause) = HTTPSender.problem(for: error) else {
                Issue.record("\(error) is no failure")
                continue
            }
            let starts = ["no answer came ", "the receiver ", "the TLS ", "the request failed: ", "the answer "]
            #expect(starts.contains { clause.hasPrefix($0) } && !clause.hasSuffix("."), "\(clause)")
        }
    }

    @Test("a certificate is verified for its name, although the connection uses the checked address")
    func certificates() async throws {
        let own = try TestIdentity(names: ["localhost"])
        let other = try TestIdentity(names: ["elsewhere.test"])
        for (identity, trusted, isGood) in [(own, own, true), (own, other, false), (other, other, false)] {
            let context = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMBytes(Array(identity.certificate.utf8))
                        .map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))))
            let receiver = try await WebhookReceiver.start { channel in
                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            }
            let roots = try NIOSSLCertificate.fromPEMBytes(Array(trusted.certificate.utf8))
            try await with(trusted: roots, receiver: receiver) { (sender: HTTPSender) async throws -> Void in
                let reason = try await problem(sender, receiver.url("/", scheme: "https", host: "localhost"))
                #expect(
                    isGood
                        ? reason == nil
                        : reason == "the TLS connection could not be made: the certificate may be wrong",
                    "\(reason ?? "nil")")
            }
        }
    }
}
