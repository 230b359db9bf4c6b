// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Foundation
import Glibc
import LocalServers
import NIOCore
import NIOPosix
import Postgres
import TestTiers
import Testing

@testable import StrataCommand

@Suite("strata dev")
struct DevSystemTests {
    private struct Stage {
        let home: StrataHome
        let system: DevSystem
        let lines = Collected<String>()

        /// Occupies the HTTP port; nil if the port is free.
        let squatter: (any Channel)?

        init(
            _ directory: String, _ binaries: ServiceBinaries, databases: Int = 1, gateways: Int = 1,
            home name: String = "home", isPortTaken: Bool = false, hasConsole: Bool = true
        ) throws {
            let lines = lines
            squatter =
                isPortTaken
                ? try ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup).bind(host: "127.0.0.1", port: 0)
                    .wait() : nil
            var ports = try LoopbackPort.free(3)
            if let taken = squatter?.localAddress?.port { ports[0] = taken }
            let settings = try DevSettings(
                flags: .init(
                    databases: databases, gateways: gateways, httpPort: ports[0], httpsPort: ports[1],
                    consolePort: ports[2]),
                environment: ["STRATA_CONSOLE": hasConsole ? "true" : "false"])
            home = StrataHome(environment: ["STRATA_HOME": "\(directory)/\(name)"])
            system = DevSystem(
                home: home, settings: settings, binaries: binaries,
                environment: ["PATH": "/usr/bin:/bin", "STRATA_DEMO_PAGE": "false"],
                console: Console(out: { lines.add($0) }, error: { lines.add($0) }))
        }

        var state: RunningState {
            get throws { try RunningState.read(home.state) }
        }

        func process(_ name: String) throws -> RunningState.Process {
            try #require(try state.processes.first { $0.name == name })
        }
    }

    @Test("strata dev starts everything, reports it, keeps data over a restart, and leaves nothing behind")
    func upAndDown() async throws {
        try await withTemporaryDirectory { directory in
            let binaries = try FakeServices.make(in: directory)
            let first = try Stage(directory, binaries, gateways: 2)
            try await first.system.start()
            let state = try first.state
            #expect(
                Set(state.processes.map(\.name)) == [
                    "postgres", "redis", "conversations-1", "metadata-1", "presence-1", "webhooks-1", "gateway-1",
                    "gateway-2", "console-1",
                ])
            #expect(state.processes.allSatisfy { kill($0.pid, 0) == 0 })
            #expect(state.httpURLs.count == 2)
            #expect(await first.system.welcome().contains(state.httpsURLs[1]))
            #expect(first.lines.all.contains { $0.contains("gateway-2 is ready") })
            #expect(LogTail.last(1, of: first.home.logs + "/metadata-1.log") == "fake metadata-1 here")

            let app = try NewApp(name: "Kept")
            try await AppStore(url: state.databaseURL).insert(app)
            await first.system.stop()
            try await eventually { state.processes.allSatisfy { kill($0.pid, 0) != 0 } }
            #expect(!FileManager.default.fileExists(atPath: first.home.state))

            let second = try Stage(directory, binaries)
            try await second.system.start()
            let apps = try await AppStore(url: try second.state.databaseURL).list()
            #expect(
                apps == [
                    AppStore.App(
                        id: app.id, providerID: app.providerID, keyIDs: [app.keyID], name: "Kept", isSuspended: false)
                ])
            #expect(second.lines.all.contains { $0.contains("up to date") })
            await second.system.stop()
        }
    }

    @Test("strata dev restarts killed processes, including PostgreSQL, and the state file reports it")
    func restarts() async throws {
        try await withTemporaryDirectory { directory in
            let stage = try Stage(directory, try FakeServices.make(in: directory))
            try await stage.system.start()
            for name in ["gateway-1", "postgres", "redis"] {
                let before = try stage.process(name)
                kill(before.pid, SIGKILL)
                try await eventually { try stage.process(name).restarts == 1 }
                let after = try stage.process(name)
                #expect(after.pid != before.pid)
                #expect(kill(after.pid, 0) == 0)
                #expect(after.port == before.port)
            }
            #expect(try await AppStore(url: try stage.state.databaseURL).list().isEmpty)
            #expect(stage.lines.all.contains { $0.contains("gateway-1 was killed by signal 9") })
            await stage.system.stop()
        }
    }

    @Test("each of several databases has a server of its own, and a name")
    func databases() async throws {
        try await withTemporaryDirectory { directory in
            let stage = try Stage(directory, try FakeServices.make(in: directory), databases: 2)
            try await stage.system.start()
            let state = try stage.state
            #expect(state.instances(of: "postgres").map(\.name) == ["postgres", "postgres-2"])
            let text = try #require(state.databases)
            let list = try #require(DatabaseList(text))
            #expect(list.databases.map { "\($0.name)" } == ["main", "db2"])
            #expect(list.databases[0].url == state.databaseURL)
            for (name, url) in list.databases {
                let identity = try await AppStore(url: url).query(ReadDatabaseIdentity()).first
                #expect(identity?.name == "\(name)")
            }
            await stage.system.stop()
        }
    }

    @Test("the services' roles can sign in to the database")
    func roles() async throws {
        try await withTemporaryDirectory { directory in
            let stage = try Stage(directory, try FakeServices.make(in: directory))
            try await stage.system.start()
            let secrets = try Secrets.ensure(in: stage.home)
            let port = try #require(try stage.process("postgres").port)
            for (role, password) in [
                ("strata_conversations", secrets.conversations), ("strata_metadata", secrets.metadata),
                ("strata_webhooks", secrets.webhooks), ("strata_console", secrets.console),
            ] {
                let words = [
                    "-X", "-A", "-t", "-w", "-d", "postgresql://\(role):\(password)@127.0.0.1:\(port)/strata", "-c",
                    "SELECT current_user",
                ]
                #expect(
                    try await ChildProcess.run(Launch(try Programs.findPostgres("psql"), arguments: words)).output
                        == "\(role)\n")
            }
            await stage.system.stop()
        }
    }

    @Test(
        "strata dev and strata migrate refuse a database of an unreleased version with one sentence and leave it unchanged"
    )
    func otherSchema() async throws {
        try await withTemporaryDirectory { directory in
            let binaries = try FakeServices.make(in: directory)
            let first = try Stage(directory, binaries)
            try await first.system.start()
            let url = try first.state.databaseURL
            // The first migration of unreleased versions had this name.
            let rename = "UPDATE strata.schema_migrations SET name = 'tables' WHERE version = 1"
            try await Migrator(configuration: PostgresConfiguration(url: url)).execute(script: rename)
            let refusal = await #expect(throws: PostgresError.self) {
                try await DatabaseMigration.run(url: url, passwords: [:])
            }
            let sentence =
                "An unreleased version of Strata made this database, and it cannot be migrated. Save its data with pg_dump if you need it, then "
            #expect(refusal.flatMap { CommandFailure(of: $0) }?.message == sentence + "begin with an empty database.")
            await first.system.stop()

            let second = try Stage(directory, binaries)
            let failure = await #expect(throws: CommandFailure.self) { try await second.system.start() }
            #expect(failure?.message == sentence + "delete \(second.home.path).")
            await second.system.stop()
            #expect(!second.lines.all.contains { $0.contains("migrat") || $0.contains("ready") })
            #expect(FileManager.default.fileExists(atPath: second.home.postgres))
        }
    }

    @Test("each start makes a link that signs the developer in to the console, and shows it; a disabled one has none")
    func consoleLink() async throws {
        try await withTemporaryDirectory { directory in
            let binaries = try FakeServices.make(in: directory)
            var links: [String] = []
            for _ in 1...2 {
                let stage = try Stage(directory, binaries)
                try await stage.system.start()
                let console = try #require(try stage.state.consoleURL)
                let port = try #require(try stage.process("console-1").httpPort)
                #expect(console == "http://localhost:\(port)")
                let welcome = await stage.system.welcome()
                let link = try #require(welcome.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix(console) })
                #expect(link.hasPrefix(console + "/console/link/"))
                #expect(welcome.contains("operator link developer"))
                links.append(String(link))
                let operators = OperatorStore(url: try stage.state.databaseURL)
                #expect(try await operators.list().map(\.name) == ["developer"])
                #expect(try await operators.list().map(\.role) == ["operator"])
                #expect(try await operators.disable("developer"))
                if links.count == 1 { _ = try await operators.enable("developer", role: nil) }
                await stage.system.stop()
            }
            #expect(links[0] != links[1])
            let third = try Stage(directory, binaries)
            try await third.system.start()
            let console = try #require(try third.state.consoleURL)
            #expect(await third.system.welcome().contains("console      \(console)\n"))
            await third.system.stop()
        }
    }

    @Test("without the console, its executable is not needed")
    func withoutConsole() async throws {
        try await withTemporaryDirectory { directory in
            let binaries = try FakeServices.make(in: directory)
            try FileManager.default.removeItem(atPath: binaries.path(of: .console))
            let stage = try Stage(directory, binaries, hasConsole: false)
            try await stage.system.start()
            #expect(try stage.state.consoleURL == nil)
            #expect(try stage.state.instances(of: "console").isEmpty)
            #expect(await !stage.system.welcome().contains("console"))
            await stage.system.stop()
        }
    }

    @Test("a service that keeps dying ends the start and reports its last output")
    func broken() async throws {
        try await withTemporaryDirectory { directory in
            let stage = try Stage(directory, try FakeServices.make(in: directory, broken: .metadata))
            let failure = await #expect(throws: CommandFailure.self) { try await stage.system.start() }
            #expect(failure?.message.contains("metadata-1 did not become ready") == true)
            #expect(failure?.message.contains("cannot read the stars") == true)
            await stage.system.stop()
            #expect(!HomeLock.isHeld(stage.home))
        }
    }

    @Test("a second system in the same home is refused and does not affect the first")
    func second() async throws {
        try await withTemporaryDirectory { directory in
            let binaries = try FakeServices.make(in: directory)
            let first = try Stage(directory, binaries)
            try await first.system.start()
            let second = try Stage(directory, binaries)
            let failure = await #expect(throws: CommandFailure.self) { try await second.system.start() }
            #expect(failure?.message.contains("Process \(getpid()) already runs") == true)
            await second.system.stop()
            #expect(try first.state.processes.allSatisfy { kill($0.pid, 0) == 0 })
            await first.system.stop()
        }
    }

    @Test("a start that fails early removes exactly the directories that it created")
    func nothingLeft() async throws {
        try await withTemporaryDirectory { directory in
            let binaries = try FakeServices.make(in: directory)
            let stage = try Stage(directory, binaries, home: "above/home", isPortTaken: true)
            let failure = await #expect(throws: CommandFailure.self) { try await stage.system.start() }
            #expect(failure?.message.contains("is in use") == true)
            await stage.system.stop()
            try await stage.squatter?.close()
            #expect(!FileManager.default.fileExists(atPath: directory + "/above"))

            try FileManager.default.createDirectory(atPath: stage.home.keys, withIntermediateDirectories: true)
            let again = try Stage(directory, binaries, home: "above/home", isPortTaken: true)
            await #expect(throws: CommandFailure.self) { try await again.system.start() }
            await again.system.stop()
            try await again.squatter?.close()
            #expect(FileManager.default.fileExists(atPath: stage.home.keys))
        }
    }

    @Test("missing executables are named before any process starts")
    func missing() async throws {
        try await withTemporaryDirectory { directory in
            let stage = try Stage(directory, ServiceBinaries(directory: directory))
            let failure = await #expect(throws: CommandFailure.self) { try await stage.system.start() }
            #expect(failure?.message.contains("swift build") == true)
            await stage.system.stop()
            #expect(!FileManager.default.fileExists(atPath: stage.home.path))
        }
    }
}
