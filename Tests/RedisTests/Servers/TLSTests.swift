// SPDX-License-Identifier: Apache-2.0

import LocalServers
import NIOCore
import TestSupport
import Testing

@testable import Redis

extension ServerTests {
    @Suite("TLS")
    struct TLSTests {
        /// Runs `body` with a server that has a certificate for these names and addresses. Passes its TLS port and the
        /// certificate's files.
        private static func withServer(
            names: [String] = ["localhost"], addresses: [[UInt8]] = [[127, 0, 0, 1]], asksForCertificates: Bool = false,
            _ body:
                nonisolated(nonsending) (_ port: Int, _ files: (certificate: String, key: String)) async throws -> Void
        ) async throws {
            let files = try TestIdentity(names: names, addresses: addresses).files()
            let port = try LoopbackPort.free()
            let options =
                [
                    "--tls-port", "\(port)", "--tls-auth-clients", asksForCertificates ? "yes" : "no", "--requirepass",
                    "secret",
                ] + Self.options(files)
            try await RedisServer.with(options) { _ async throws in try await body(port, files) }
        }

        private static func configuration(_ url: String) throws -> RedisConfiguration {
            var configuration = try RedisConfiguration(url: url)
            configuration.connectTimeout = .seconds(20)
            configuration.reconnectBackoffMinimum = .milliseconds(10)
            configuration.reconnectBackoffMaximum = .milliseconds(100)
            return configuration
        }

        /// Sends a PING to the URL and returns the error; nil if it succeeds.
        private static func ping(_ url: String, within time: Duration = .seconds(20)) async throws -> RedisError? {
            var configuration = try configuration(url)
            configuration.connectTimeout = time
            return try await withClient(configuration) { client async throws in
                do {
                    _ = try await client.run("PING")
                    return nil
                } catch let error as RedisError {
                    return error
                }
            }
        }

        @Test("short and long commands and messages use TLS", arguments: ["127.0.0.1", "localhost"])
        func all(_ host: String) async throws {
            try await Self.withServer { port, files async throws in
                let configuration = try Self.configuration(
                    "rediss://:secret@\(host):\(port)/0?ssl_ca_certs=\(files.certificate)")
                try await withClient(configuration) { client async throws in
                    try await withSubscriber(configuration) { subscriber, delegate async throws in
                        subscriber.subscribe(["channel"])
                        await delegate.wait(for: .confirmed("channel"))
                        let long = ByteBuffer(repeating: UInt8(ascii: "x"), count: 3_000_000)
                        _ = try await client.run("SET", "key", .bytes(long))
                        #expect(try await client.run("GET", "key").bytes == long)
                        client.publishWithoutWaiting(long, to: "channel")
                        await delegate.wait(for: .message("channel", long))
                    }
                }
            }
        }

        @Test("a certificate of an untrusted issuer, or for another name, is refused")
        func refused() async throws {
            try await Self.withServer(names: ["other.test"], addresses: []) { port, files async throws in
                let stranger = try TestIdentity(names: ["other.test"]).files().certificate
                let trust = "ssl_ca_certs=\(files.certificate)"
                for parameters in [trust, "ssl_ca_certs=\(stranger)&ssl_check_hostname=false"] {
                    for host in ["localhost", "127.0.0.1"] {
                        let error = try await Self.ping("rediss://:secret@\(host):\(port)?\(parameters)")
                        #expect(error?.code == .connectionUnavailable, "\(host) \(parameters)")
                        #expect(
                            "\(error.map { "\($0)" } ?? "")".lowercased().contains("certificate"),
                            "\(error.map { "\($0)" } ?? "nothing")")
                    }
                }
                #expect(
                    try await Self.ping("rediss://:secret@localhost:\(port)?\(trust)&ssl_check_hostname=false") == nil)
            }
        }

        @Test("a TLS client gets no answer from a plain server, and a plain client none from a TLS server")
        func oneSided() async throws {
            try await Self.withServer { port, _ async throws in
                #expect(try await Self.ping("redis://:secret@127.0.0.1:\(port)")?.code == .connectionUnavailable)
            }
            try await RedisServer.with { server async throws in
                // The server waits for the rest of what it parses as a command.
                #expect(
                    try await Self.ping("rediss://127.0.0.1:\(server.port)", within: .milliseconds(300))?.code
                        == .connectionUnavailable)
            }
        }

        @Test("a client presents its certificate to a server that requires one")
        func identity() async throws {
            try await Self.withServer(asksForCertificates: true) { port, files async throws in
                let url = "rediss://:secret@localhost:\(port)?ssl_ca_certs=\(files.certificate)"
                #expect(try await Self.ping(url)?.code == .connectionUnavailable)
                #expect(try await Self.ping(url + "&ssl_certfile=\(files.certificate)&ssl_keyfile=\(files.key)") == nil)
            }
        }

        @Test("a client finds a killed and restarted server again over TLS")
        func restart() async throws {
            let files = try TestIdentity(names: ["localhost"]).files()
            let port = try LoopbackPort.free()
            try await RedisServer.with(["--tls-port", "\(port)", "--tls-auth-clients", "no"] + Self.options(files)) {
                server async throws in
                let configuration = try Self.configuration(
                    "rediss://localhost:\(port)?ssl_ca_certs=\(files.certificate)")
                try await withSubscriber(configuration) { subscriber, delegate async throws in
                    subscriber.subscribe(["channel"])
                    await delegate.wait(for: .confirmed("channel"))
                    delegate.forget()
                    await server.killNow()
                    await delegate.wait(for: .lost)
                    try await server.start()
                    await delegate.wait(for: .recovered)
                    try await withClient(configuration) { client async throws in
                        #expect(
                            try await client.publish(ByteBuffer(string: "again"), to: "channel", deadline: .generous)
                                == 1)
                    }
                    await delegate.wait(for: .message("channel", ByteBuffer(string: "again")))
                }
            }
        }

        @Test("a client finds the nodes of a cluster and connects to each with TLS")
        func cluster() async throws {
            let files = try TestIdentity(names: ["localhost"], addresses: [[127, 0, 0, 1]]).files()
            let ports = try LoopbackPort.free(3)
            let options = ports.map {
                ["--tls-port", "\($0)", "--tls-cluster", "yes", "--tls-auth-clients", "no"] + Self.options(files)
            }
            try await RedisCluster.with(options: options) { cluster async throws in
                let configuration = try Self.configuration(
                    "rediss://127.0.0.1:\(ports[0])?ssl_ca_certs=\(files.certificate)")
                try await withClient(configuration) { client async throws in
                    try await withSubscriber(configuration) { subscriber, delegate async throws in
                        // Enough names that each third of the slots has some of them.
                        let names = (0..<30).map { "channel\($0)" }
                        #expect(Set(names.map { cluster.owner(of: $0) }).count == 3)
                        subscriber.subscribe(names)
                        try await subscriber.confirmation(of: names, deadline: .generous)
                        for name in names {
                            _ = try await client.run("SET", .string(name), "1", key: name)
                            #expect(
                                try await client.publish(ByteBuffer(string: name), to: name, deadline: .generous) == 1)
                            await delegate.wait(for: .message(name, ByteBuffer(string: name)))
                        }
                    }
                }
            }
        }

        private static func options(_ files: (certificate: String, key: String)) -> [String] {
            [
                "--tls-cert-file", files.certificate, "--tls-key-file", files.key, "--tls-ca-cert-file",
                files.certificate,
            ]
        }
    }
}
