// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Dispatch
import Foundation
import Glibc

struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Runs everything on this machine, until Ctrl-C.",
        discussion: """
            Starts a PostgreSQL for each database and a Redis, migrates the databases, makes a TLS certificate, starts \
            the five services and the console as processes, and restarts one that dies. Everything lies in .strata/ \
            of the current directory, or in STRATA_HOME; the next start finds it again.
            """)

    @Option(help: "Databases, each on a PostgreSQL server of its own.")
    var databases = 1
    @Option(help: "Gateways to run; each further one takes the next free ports.")
    var gateways = 1
    @Option(help: "Instances of the conversations service.")
    var conversations = 1
    @Option(help: "Instances of the metadata service.")
    var metadata = 1
    @Option(help: "Instances of the presence service.")
    var presence = 1
    @Option(help: "Instances of the webhooks service.")
    var webhooks = 1
    @Option(help: "The address gateways listen on; 0.0.0.0 is all of them. (STRATA_HTTP_HOST; default: 127.0.0.1)")
    var host: String?
    @Option(help: "Port of plain HTTP. (STRATA_HTTP_PORT; default: 8080)")
    var httpPort: Int?
    @Option(help: "Port of HTTPS. (STRATA_HTTPS_PORT; default: 8443)")
    var httpsPort: Int?
    @Option(
        help: """
            Port of the console; if it is taken, the next free one. (STRATA_CONSOLE_PORT; default: 8090. \
            STRATA_CONSOLE=false leaves the console out.)
            """)
    var consolePort: Int?
    @Option(help: "Base of the URLs inside objects. (STRATA_PUBLIC_URL; default: https://localhost and the HTTPS port)")
    var publicURL: String?
    @Option(help: "Level of the services' logs. (STRATA_LOG_LEVEL; default: info)")
    var logLevel: String?

    func run() async throws {
        let flags = DevSettings.Flags(
            databases: databases, gateways: gateways, conversations: conversations, metadata: metadata,
            presence: presence, webhooks: webhooks, host: host, httpPort: httpPort, httpsPort: httpsPort,
            consolePort: consolePort, publicURL: publicURL,
            logLevel: logLevel)
        let environment = ProcessInfo.processInfo.environment
        let settings = try DevSettings(flags: flags, environment: environment)
        let system = DevSystem(
            home: StrataHome(environment: environment), settings: settings, binaries: ServiceBinaries(),
            environment: environment,
            console: .standard)
        try await DevSession(system: system, console: .standard).run()
    }
}

/// One run of `strata dev`: start, wait for a signal, stop.
struct DevSession: Sendable {
    let system: DevSystem
    let console: Console

    /// Runs the system and returns after a signal, when all processes have stopped.
    /// - Throws: The reason why the start failed. Processes that already ran have been stopped.
    func run() async throws {
        let up = Task {
            try await system.start()
            console.say(await system.welcome())
            while true { try await Task.sleep(for: .seconds(86_400)) }
        }
        let watching = watch(TerminationSignals(), stop: up)
        defer { watching.cancel() }
        let result = await up.result
        let isWanted = up.isCancelled
        if isWanted { console.say("\nStopping. Press Ctrl-C again to kill everything immediately.") }
        await system.stop()
        if !isWanted { _ = try result.get() }
        console.say("Stopped. The data is kept in \(system.home.path).")
    }

    /// Cancels `stop` at the first signal. A second signal ends this process at once, and the children with it.
    private func watch(_ signals: TerminationSignals, stop: Task<Void, any Error>) -> Task<Void, Never> {
        Task {
            for await _ in signals.stream {
                guard !stop.isCancelled else { Foundation.exit(130) }
                stop.cancel()
            }
        }
    }
}

/// The text that `strata dev` prints when all processes run.
struct Welcome {
    let state: RunningState
    let home: StrataHome
    /// The address of the demo page, if there is one.
    let demoPage: String?
    /// The link that signs the developer in to the console, if there is one.
    let consoleLink: String?

    /// The text, several lines beginning with an empty one.
    var text: String {
        let prefix = home.path == StrataHome(environment: [:]).path ? "" : "STRATA_HOME=\(home.path) "
        let command = prefix + OwnCommand.name
        let chatLine = chat(prefix, columns: command.count + 33)
        let link = "\n  \(command) operator link developer         another link to the console, for one sign-in"
        return """

            Strata is up.

            \(addresses)

            In another terminal:

              \(command) app create --name "My app"      an app, its key, and a token for its server
              \(command) token --app APP --user alice    an identity token, to sign in with
              \(command) demo                            two users try everything\(chatLine)\(state.consoleURL == nil ? "" : link)
              \(command) doctor                          what is missing, what is wrong

            Ctrl-C stops everything and keeps the data.
            """
    }

    /// The lines with the addresses and paths.
    private var addresses: String {
        let secure = state.httpsURLs.map { "\($0)   \($0.replacingOccurrences(of: "https://", with: "wss://"))" }
        let plain = state.httpURLs.map { "\($0)    \($0.replacingOccurrences(of: "http://", with: "ws://"))" }
        var rows = (secure + plain).enumerated().map { ($0 == 0 ? "API" : "", $1) }
        if let console = consoleLink ?? state.consoleURL { rows.append(("console", console)) }
        if let demoPage { rows.append(("demo", demoPage)) }
        rows += [("certificate", state.certificate), ("logs", home.logs + "/")]
        return rows.map { "  \($0.padding(to: 12)) \($1)" }.joined(separator: "\n")
    }

    /// Returns the line about the example Chat; empty if this `strata` is not the one of a source tree.
    /// - Parameter columns: The width of the column with the commands.
    private func chat(_ prefix: String, columns: Int) -> String {
        guard FileManager.default.isExecutableFile(atPath: ServiceBinaries().directory + "/ChatExample") else {
            return ""
        }
        let command = "\(prefix)make chat USER=alice".padding(toLength: columns, withPad: " ", startingAt: 0)
        return "\n  \(command)a chat in the terminal; bob is in another one"
    }
}

/// The signals that ask this process to end: `SIGINT` (Ctrl-C), `SIGTERM`, and `SIGHUP` (the terminal closed).
package struct TerminationSignals: Sendable {
    /// The signals, one element for each that arrives.
    package let stream: AsyncStream<Int32>

    /// Starts to receive these signals, which then no longer end the process. Writing to a pipe without a reader does
    /// not end it either.
    package init(_ numbers: [Int32] = [SIGINT, SIGTERM, SIGHUP]) {
        signal(SIGPIPE, SIG_IGN)
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.stream = stream
        let queue = DispatchQueue(label: "strata.signals")
        let sources = numbers.filter { !($0 == SIGHUP && Self.isIgnored($0)) }
            .map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler { continuation.yield(number) }
                source.activate()
                return Kept(source: source)
            }
        continuation.onTermination = { _ in
            for kept in sources { kept.source.cancel() }
        }
    }

    /// Returns true if the parent process had the signal ignored, as `nohup` does.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// A wrapper of a dispatch source. It is `@unchecked Sendable` because only `cancel` is called on it, which is
    /// allowed from any thread.
    private struct Kept: @unchecked Sendable {
        let source: any DispatchSourceSignal
    }
}
