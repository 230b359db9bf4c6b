// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
import Foundation
import ProtocolClient
import StrataCommand

/// `soak`: the load and the checker of the fault tests, for a remote system. Another program breaks that system
/// meanwhile.
package struct SoakCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Many users write without a pause, until Ctrl-C or --seconds; then everything is compared.",
        discussion: """
            Exits with 0 only if every acknowledged change is there, once and in order, and every client was told of it, once and in order. \
            STRATA_URL, STRATA_CA and STRATA_DATABASE_URL are read as by `strata demo`.
            """, subcommands: [ReceiveCommand.self])

    @Option(help: "Base URL of a gateway, or of what stands before them. (STRATA_URL)")
    var url: String?
    @Option(
        help: ArgumentHelp(
            "PEM file of the certificates to trust, instead of those of public authorities. (STRATA_CA)",
            valueName: "file"))
    var ca: String?
    @Option(help: "libpq URL of the database, as its owner. (STRATA_DATABASE_URL, STRATA_DATABASE_URL_FILE)")
    var database: String?
    @Option(help: "Users, at least 3.")
    var users = 14
    @Option(help: "Conversations.")
    var conversations = 6
    @Option(help: "How long it writes; 0 is until Ctrl-C or SIGTERM.")
    var seconds = 0
    @Option(help: "How long the clients may take, after that, to be told everything; in seconds.")
    var patience = 120
    @Flag(help: "Hostile users keep within the limits meanwhile, and do what harm they can.")
    var hostile = false
    @Option(
        help: ArgumentHelp(
            "Base URL of `soak receive`: webhooks are registered and judged, too. Needs --journal.", valueName: "url"))
    var receiver: String?
    @Option(
        help: ArgumentHelp(
            "Directory for a record of connections, requests and packets, of at most 256 MB, and for deliveries.",
            valueName: "directory"))
    var journal: String?
    @Option(
        help:
            "What is written follows from it, ids as well: each run on a system needs another one. Random if it is left out."
    )
    var seed: UInt64?

    package init() {}

    package func validate() throws {
        guard users >= 3, conversations >= 1, seconds >= 0, patience >= 1 else {
            throw ValidationError("--users must be at least 3, --conversations and --patience at least 1.")
        }
        guard receiver == nil || journal != nil else { throw ValidationError("--receiver needs --journal.") }
    }

    package func run() async throws {
        let settings = OperatorSettings()
        guard let url = try url ?? settings.value("STRATA_URL") else { throw ValidationError("--url is missing.") }
        // Of several databases, the app of the load is in the last one.
        guard let database = try settings.databaseURLs(database)?.last else {
            throw ValidationError("--database is missing.")
        }
        var trust = ServerTrust.system
        if let file = try ca ?? settings.value("STRATA_CA") {
            trust = .roots(pem: try String(contentsOfFile: file, encoding: .utf8))
        }
        let system = try RemoteSystem(url: url, trust: trust, databaseURL: database)
        let violations = try await soak(system)
        await system.shutdown()
        for violation in violations.prefix(50) { say("✗ \(violation)") }
        guard violations.isEmpty else { throw ExitCode(1) }
    }

    private func soak(_ system: RemoteSystem) async throws -> [Violation] {
        let signals = TerminationSignals()
        var size = Load.Size()
        size.users = users
        size.conversations = conversations
        let seed = seed ?? .random(in: 0...UInt64(UInt32.max))
        let journal = try journal.map { try Journal(directory: $0, name: "clients") }
        defer { journal?.flush() }
        let load = try await Load.start(size, seed: seed, on: system, journal: journal) { app in
            if let receiver { try await AppHooks(app: app, receiver: receiver).register(TestHook.all) }
        }
        say("\(users) users write in \(conversations) conversations, seed \(seed)")
        let began = ContinuousClock.now
        try await load.run {
            try await withThrowingTaskGroup(of: Void.self) { group in
                if hostile {
                    let users = try await HostileUsers.start(against: load, on: system, seed: seed)
                    group.addTask { await users.run() }
                }
                if let receiver {
                    group.addTask {
                        load.recorder.add(faults: await AppHooks(app: load.app, receiver: receiver).watch())
                    }
                }
                await wait(signals)
                group.cancelAll()
            }
        }
        let wrote = ContinuousClock.now - began
        var history = try await load.settle(system, within: .seconds(patience))
        if hostile { history.faults += load.recorder.untriedHarm + load.recorder.harm }
        let violations = try await Checker.violations(of: history) + judgeWebhooks(by: history)
        let counts = load.recorder.counts
        let lost = { (kinds: [Violation.Kind]) in violations.count { kinds.contains($0.kind) } }
        say(
            "\(wrote.components.seconds) s; \(counts.acknowledged) acknowledged, \(counts.refused) refused, \(counts.unknown) unknown; \(lost([.lost])) lost, "
                + "\(lost([.duplicated])) duplicated, \(lost([.reordered])) reordered, "
                + "\(lost(Violation.Kind.allCases.filter { ![.lost, .duplicated, .reordered].contains($0) })) otherwise wrong"
        )
        return violations
    }

    /// Waits until the receiver has all changes, and judges the deliveries.
    private func judgeWebhooks(by history: History) async throws -> [Violation] {
        guard receiver != nil, let journal else { return [] }
        let deadline = ContinuousClock.now + .seconds(patience)
        var file = DeliveryFile.Reader(directory: journal)
        while true {
            try file.read()
            let violations = HookJudge.violations(of: file.deliveries, to: TestHook.all, in: history)
            guard violations.contains(where: { $0.kind == .lost }), .now < deadline else {
                say(
                    "\(file.deliveries.count) deliveries to \(TestHook.all.count) webhooks, \(file.repetitions) of them repetitions"
                )
                return violations
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func wait(_ signals: TerminationSignals) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in signals.stream { return } }
            if seconds > 0 { group.addTask { try? await Task.sleep(for: .seconds(seconds)) } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Writes a line without buffering, because other programs wait for it.
    private func say(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}
