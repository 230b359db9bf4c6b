// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import TestCluster
import TestSupport
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Refusals of the operator's command, by a running system or by a server that only resembles one.
    @Suite("a command that is refused")
    struct RefusalTests {
        private let nobody = "postgresql://127.0.0.1:1/strata"

        private func expectOneLine(_ exit: StrataProgram.Exit, _ status: CommandFailure.Status, _ says: String) {
            #expect(exit.status == status.rawValue, "\(exit.output)\(exit.errorOutput)")
            #expect(exit.errorOutput.contains(says), "\(exit.output)\(exit.errorOutput)")
            #expect(exit.errorOutput.hasPrefix("strata: ") && exit.errorOutput.split(separator: "\n").count == 1)
        }

        @Test("an untrusted certificate is named at once, with the option that helps, before anything is created")
        func certificate() async throws {
            let identity = try TestIdentity(names: ["localhost"]).files()
            let context = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem))))
            let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            let url = "https://localhost:\(server.localAddress?.port ?? 0)"
            let strata = try StrataProgram()
            let key = try await TestApp.key.value.privateKeyFile
            for words in [
                ["demo", "--url", url, "--database", nobody],
                [
                    "token", "--gateway", url, "--user", "ana", "--key", key, "--key-id", UUID().uuidString,
                    "--provider", UUID().uuidString,
                ],
            ] {
                let exit = try await strata.run(words)
                expectOneLine(
                    exit, .unavailable,
                    "The certificate of \(url) is not trusted. Name the certificates to trust with --ca")
                #expect(exit.output.isEmpty)
            }
            // A certificate for another name is not trusted either.
            let other = url.replacingOccurrences(of: "localhost", with: "127.0.0.1")
            let exit = try await strata.run([
                "demo", "--url", other, "--ca", identity.certificate, "--database", nobody,
            ])
            expectOneLine(exit, .unavailable, "The certificate of \(other) is not trusted.")
            try await server.close()
        }

        @Test("demo reports an unknown app or a key of another app")
        func demo() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let strata = try StrataProgram()
            func words(_ id: String, _ key: String) -> [String] {
                [
                    "demo", "--url", cluster.urls[0], "--app", id, "--key", key, "--key-id",
                    LayerID.key.text(app.app.keyID), "--provider",
                    LayerID.provider.text(app.app.providerID),
                ]
            }
            let unknown = LayerID.app.text(UUID())
            expectOneLine(
                try await strata.run(words(unknown, app.privateKeyFile)), .usage,
                "The app \(unknown) does not exist at \(cluster.urls[0]).")
            let strange = try await TestApp.strangeKey.value.privateKeyFile
            expectOneLine(
                try await strata.run(words(app.id, strange)), .usage,
                "Key, key id and provider must be those of \(app.id).")
            #expect(try await strata.run(["app", "suspend", app.id, "--database", cluster.databaseURL]).status == 0)
            // The service caches the app's key for ten seconds, but reads the app itself each time.
            expectOneLine(
                try await strata.run(words(app.id, app.privateKeyFile)), .unavailable, "The app \(app.id) is suspended."
            )
        }

        @Test("an unknown app can neither receive announcements nor be suspended")
        func unknownApp() async throws {
            let cluster = try await Cluster.shared()
            let strata = try StrataProgram()
            let unknown = UUID()
            let id = unknown.uuidString
            let refusal = "The app \(LayerID.app.text(unknown)) does not exist."
            let place = ["--url", cluster.urls[0], "--app", id, "--database", cluster.databaseURL]
            let announcement = try await strata.run(["announce"] + place + ["--to", "ana", "Hello"])
            expectOneLine(announcement, .usage, refusal)
            #expect(announcement.output.isEmpty)
            let erasure = try await strata.run(["user", "erase"] + place + ["--user", "ana", "--yes"])
            expectOneLine(erasure, .usage, refusal)
            for command in ["suspend", "resume"] {
                expectOneLine(
                    try await strata.run(["app", command, id, "--database", cluster.databaseURL]), .usage,
                    refusal)
            }
        }
    }
}
