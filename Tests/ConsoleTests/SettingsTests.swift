// SPDX-License-Identifier: Apache-2.0
import RPC
import ServiceKit
import Testing

@testable import Console

@Suite("settings of the console")
struct SettingsTests {
    private static let secret = String(repeating: "s", count: 32)
    private static let required = [
        "STRATA_CLUSTER_SECRET": secret, "STRATA_POSTGRES_URL": "postgres://strata_console:word@db/strata",
        "STRATA_REDIS_URL": "redis://:word@redis", "STRATA_CONVERSATIONS_ADDRESSES": "conversations:7400",
        "STRATA_PRESENCE_ADDRESSES": "presence:7400", "STRATA_CONSOLE_GATEWAY_URL": "http://gateway:8080/",
    ]

    private func settings(_ more: [String: String] = [:]) throws -> ConsoleSettings {
        let settings = Settings(environment: Self.required.merging(more) { $1 })
        return try ConsoleSettings(settings, common: CommonSettings(settings))
    }

    @Test("by default the console listens on this machine only, and sends its cookie over HTTPS only")
    func defaults() throws {
        let settings = try settings()
        #expect((settings.host, settings.port, settings.allowsHTTP) == ("127.0.0.1", 8090, false))
        #expect(settings.gatewayURL == "http://gateway:8080")
        #expect(settings.instances.isEmpty)
        #expect(settings.prometheusURL == nil)
        #expect(settings.backends.webhooks == nil)
    }

    @Test("instances are kinds with names and ports")
    func instances() throws {
        let settings = try settings([
            "STRATA_CONSOLE_INSTANCES": "gateway=gateway:7401, webhooks=[::1]:7402",
            "STRATA_CONSOLE_PROMETHEUS_URL": "http://prometheus:9090/",
        ])
        #expect(settings.instances.map(\.kind) == ["gateway", "webhooks"])
        #expect(settings.instances.map { "\($0.endpoint)" } == ["gateway:7401", "[::1]:7402"])
        #expect(settings.prometheusURL == "http://prometheus:9090")
    }

    @Test(
        "a wrong value is refused by its key",
        arguments: [
            ("STRATA_CONSOLE_INSTANCES", "gateway:7401"), ("STRATA_CONSOLE_INSTANCES", "Gate way=gateway:7401"),
            ("STRATA_CONSOLE_INSTANCES", "gateway=gateway"), ("STRATA_CONSOLE_PORT", "70000"),
            ("STRATA_CONSOLE_GATEWAY_URL", "ftp://gateway"), ("STRATA_CONSOLE_GATEWAY_URL", "http://a,http://b"),
            ("STRATA_CONSOLE_TRUSTED_PROXIES", "-1"),
        ])
    func wrong(key: String, value: String) throws {
        let error = #expect(throws: SettingsError.self) { try settings([key: value]) }
        #expect(error?.key == key)
    }

    @Test("a name is resolved to its addresses")
    func addresses() async throws {
        let name = try #require(InstanceName("gateway=127.0.0.1:7401"))
        #expect(try await name.addresses() == ["127.0.0.1:7401"])
        let unknown = try #require(InstanceName("gateway=no.such.name.invalid:7401"))
        await #expect(throws: RPCResolver.Failure.self) { try await unknown.addresses() }
    }

    @Test("printed settings show no secret")
    func redacted() throws {
        var text = "\(try settings())"
        dump(try settings(), to: &text)
        #expect(!text.contains("word"))
        #expect(!text.contains(Self.secret))
    }
}
