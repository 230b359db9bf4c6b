// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StrataCommand

@Suite("the plan of the processes")
struct ServicePlanTests {
    private func plan(_ flags: DevSettings.Flags, taken: Set<Int> = []) throws -> ServicePlan {
        let settings = try DevSettings(flags: flags, environment: [:])
        return try ServicePlan(
            settings: settings, isFree: { !taken.contains($0) }, takePorts: { count in Array(20_001...20_000 + count) })
    }

    @Test("further gateways get the next free ports")
    func gatewayPorts() throws {
        let gateways = try plan(.init(gateways: 3), taken: [8081, 8444]).instances.filter { $0.kind == .gateway }
        #expect(gateways.map(\.httpPort) == [8080, 8082, 8083])
        #expect(gateways.map(\.httpsPort) == [8443, 8445, 8446])
        #expect(gateways.map(\.name) == ["gateway-1", "gateway-2", "gateway-3"])
    }

    @Test("no two processes share a port")
    func distinct() throws {
        let plan = try plan(
            .init(gateways: 4, conversations: 2, metadata: 3, presence: 2, httpPort: 8441, httpsPort: 8443))
        let ports = plan.instances.flatMap { [$0.adminPort, $0.rpcPort, $0.httpPort, $0.httpsPort].compactMap { $0 } }
        #expect(Set(ports).count == ports.count)
        #expect(plan.instances.count == 13)
    }

    @Test("ports requested for the gateways are kept, anywhere in the range")
    func wanted() throws {
        let plan = try plan(.init(httpPort: 20_010, httpsPort: 20_003, consolePort: 20_005))
        let ports = plan.instances.flatMap { [$0.adminPort, $0.rpcPort, $0.httpPort, $0.httpsPort].compactMap { $0 } }
        #expect(Set(ports).count == ports.count)
        #expect(ports.contains(20_010) && ports.contains(20_003) && ports.contains(20_005))
    }

    @Test("the console gets its port, or the next one that is free and not a gateway's")
    func consolePort() throws {
        func port(_ flags: DevSettings.Flags, taken: Set<Int> = []) throws -> Int? {
            try plan(flags, taken: taken).instances.first { $0.kind == .console }?.httpPort
        }
        #expect(try port(.init()) == 8090)
        #expect(try port(.init(), taken: [8090, 8091]) == 8092)
        #expect(try port(.init(gateways: 2, consolePort: 8080)) == 8082)
        let failure = #expect(throws: CommandFailure.self) { try port(.init(consolePort: 65_535), taken: [65_535]) }
        #expect(failure?.message.contains("--console-port") == true)
        let settings = try DevSettings(flags: .init(), environment: ["STRATA_CONSOLE": "false"])
        let without = try ServicePlan(
            settings: settings, isFree: { _ in true }, takePorts: { Array(20_001...20_000 + $0) })
        #expect(!without.instances.contains { $0.kind == .console })
    }

    @Test("an error names an occupied first port and the flag that changes it")
    func taken() {
        let failure = #expect(throws: CommandFailure.self) { try plan(.init(), taken: [8443]) }
        #expect(failure?.message.contains("8443") == true)
        #expect(failure?.message.contains("--https-port") == true)
        #expect(failure?.status == .configuration)
    }

    @Test("each process gets exactly the settings and secrets it needs")
    func environment() throws {
        let plan = try plan(.init(gateways: 2, conversations: 2))
        let context = ServicePlan.Context(
            settings: try DevSettings(flags: .init(), environment: [:]), clusterSecret: "secret",
            webhooksSecret: "of webhooks",
            postgresURLs: [.conversations: "postgresql://c@h/strata", .metadata: "postgresql://m@h/strata"],
            redisURL: "redis://127.0.0.1:1",
            certificate: "/c.pem", key: "/k.pem",
            inherited: ["PATH": "/bin", "STRATA_TYPING_PAUSE": "10", "STRATA_HTTP_PORT": "1", "STRATA_HOME": "/h"],
            contentDirectory: "/h/content")
        let gateway = plan.environment(of: try #require(plan.instances.first { $0.name == "gateway-2" }), in: context)
        #expect(gateway["STRATA_INSTANCE"] == "gateway-2")
        #expect(gateway["STRATA_HTTP_PORT"] == "8081")
        #expect(gateway["STRATA_HTTPS_PORT"] == "8444")
        #expect(gateway["STRATA_PUBLIC_URL"] == "https://localhost:8443")
        #expect(gateway["STRATA_POSTGRES_URL"] == nil)
        #expect(gateway["STRATA_CONVERSATIONS_ADDRESSES"] == plan.addresses(of: .conversations))
        #expect(plan.addresses(of: .conversations).split(separator: ",").count == 2)
        #expect(gateway["STRATA_TYPING_PAUSE"] == "10")
        #expect(gateway["STRATA_CONTENT_DIRECTORY"] == "/h/content")
        var elsewhere = context
        elsewhere.inherited["STRATA_CONTENT_DIRECTORY"] = "/volume"
        #expect(
            plan.environment(of: try #require(plan.instances.first { $0.name == "gateway-1" }), in: elsewhere)[
                "STRATA_CONTENT_DIRECTORY"]
                == "/volume")
        let conversations = plan.environment(
            of: try #require(plan.instances.first { $0.kind == .conversations }), in: context)
        #expect(conversations["STRATA_POSTGRES_URL"] == "postgresql://c@h/strata")
        #expect(conversations["STRATA_TLS_KEY"] == nil)
        #expect(conversations["STRATA_CONTENT_DIRECTORY"] == nil)
        #expect(conversations["STRATA_HTTP_PORT"] == nil)
        #expect(conversations["STRATA_HOME"] == nil)
        #expect(conversations["STRATA_CLUSTER_SECRET"] == "secret")
        #expect(
            plan.addresses(of: .conversations).contains("127.0.0.1:\(try #require(conversations["STRATA_RPC_PORT"]))"))
        #expect(conversations["STRATA_WEBHOOKS_SECRET"] == nil)
        #expect(gateway["STRATA_CLUSTER_SECRET"] == "secret" && gateway["STRATA_WEBHOOKS_SECRET"] == "of webhooks")
        elsewhere.inherited["STRATA_CLUSTER_SECRET"] = "inherited"
        let webhooks = plan.environment(of: try #require(plan.instances.first { $0.kind == .webhooks }), in: elsewhere)
        #expect(webhooks["STRATA_CLUSTER_SECRET"] == nil && webhooks["STRATA_WEBHOOKS_SECRET"] == "of webhooks")
        let presence = plan.environment(of: try #require(plan.instances.first { $0.kind == .presence }), in: context)
        #expect(presence["STRATA_POSTGRES_URL"] == nil)
        #expect(presence["STRATA_REDIS_URL"] == "redis://127.0.0.1:1")
    }

    @Test("the console gets the addresses of everything that it shows, and both secrets")
    func consoleEnvironment() throws {
        let plan = try plan(.init(gateways: 2))
        let context = ServicePlan.Context(
            settings: try DevSettings(flags: .init(), environment: [:]), clusterSecret: "secret",
            webhooksSecret: "of webhooks", postgresURLs: [.console: "postgresql://o@h/strata"],
            redisURL: "redis://127.0.0.1:1", certificate: "/c.pem", key: "/k.pem",
            inherited: ["STRATA_CONSOLE": "true", "STRATA_CONSOLE_URL": "http://elsewhere"])
        let console = try #require(plan.instances.last)
        #expect(console.name == "console-1")
        let environment = plan.environment(of: console, in: context)
        #expect(environment["STRATA_CONSOLE_HOST"] == "127.0.0.1" && environment["STRATA_CONSOLE_PORT"] == "8090")
        #expect(environment["STRATA_CONSOLE_GATEWAY_URL"] == "http://127.0.0.1:8080")
        #expect(environment["STRATA_CONSOLE_ALLOW_HTTP"] == "true")
        #expect(environment["STRATA_POSTGRES_URL"] == "postgresql://o@h/strata")
        #expect(environment["STRATA_CLUSTER_SECRET"] == "secret")
        #expect(environment["STRATA_WEBHOOKS_SECRET"] == "of webhooks")
        for kind in [ServiceKind.conversations, .presence, .webhooks] {
            #expect(environment["STRATA_\(kind.rawValue.uppercased())_ADDRESSES"] == plan.addresses(of: kind))
        }
        let instances = environment["STRATA_CONSOLE_INSTANCES"]?.split(separator: ",") ?? []
        #expect(instances.count == plan.instances.count)
        #expect(instances.first == "conversations=127.0.0.1:\(plan.instances[0].adminPort)")
        for key in ["STRATA_RPC_PORT", "STRATA_HTTP_PORT", "STRATA_CONSOLE", "STRATA_CONSOLE_URL"] {
            #expect(environment[key] == nil, "\(key)")
        }
        let gateway = plan.environment(of: try #require(plan.instances.first { $0.kind == .gateway }), in: context)
        #expect(gateway.keys.allSatisfy { !$0.hasPrefix("STRATA_CONSOLE") })
    }
}
