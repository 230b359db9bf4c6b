// SPDX-License-Identifier: Apache-2.0

import Gateway
import RPC
import Testing

/// Libraries log the values they are given, including services and everything these refer to.
@Suite("settings that are printed")
struct SettingsDescriptionTests {
    private struct Holder {
        let settings: GatewaySettings
    }

    @Test("a printed setting shows no secret, with any printing method")
    func redacted() {
        let secret = "the secret of a cluster, which nobody may read"
        let client = RPCClientConfiguration(
            target: .fixed([RPCEndpoint(host: "127.0.0.1", port: 1)]), clusterSecret: secret, name: "a")
        let server = RPCServerConfiguration(port: 1, clusterSecret: secret)
        let settings = GatewaySettings(
            publicURL: "https://chat.example.org", redisURL: "redis://:\(secret)@127.0.0.1", clusterSecret: secret,
            backends: GatewaySettings.Backends(conversations: client, metadata: client, presence: client))
        var dumped = ""
        dump(Holder(settings: settings), to: &dumped)
        dump(client, to: &dumped)
        dump(server, to: &dumped)
        let texts = [
            "\(settings)", "\(Holder(settings: settings))", String(reflecting: settings), "\(client)",
            String(reflecting: client), "\(server)",
            String(reflecting: server), dumped,
        ]
        for text in texts { #expect(!text.contains(secret)) }
    }
}
