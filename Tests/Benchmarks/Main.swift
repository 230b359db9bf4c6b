// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import StrataCommand

/// The command that runs the benchmarks and prints their figures; see docs/benchmarks.md.
@main
struct BenchCommand: AsyncParsableCommand {
    /// Runs the command. Some benchmarks start this program again: as a server, or as an app with StrataKit.
    static func main() async {
        let arguments = CommandLine.arguments
        do {
            if arguments.count == 3, arguments[1] == "rpc-bench-server", let port = Int(arguments[2]) {
                return try await RPCBench.serve(port: port)
            }
            if arguments.count == 3, arguments[1] == BareWebSocketServer.argument, let port = Int(arguments[2]) {
                return try await BareWebSocketServer.serve(port: port)
            }
            if arguments.count == 3, arguments[1] == KitClient.argument { return try await KitClient.run(arguments[2]) }
        } catch {
            exit(withError: error)
        }
        await launch()
    }

    /// The name is `strata bench` if `strata` started this program.
    static let configuration = CommandConfiguration(
        commandName: CommandLine.arguments[0] == BenchmarkCommand.fullName ? BenchmarkCommand.fullName : "bench",
        abstract: "Measures Strata under load, and its parts, each against a baseline of the same run.",
        discussion: """
            Scenarios: chat, fanout, typing, metadata, trees, receipts, connect, storm, idle, lists, rest, scale, \
            databases, machines, curves. With --url, --app and --key they drive a Strata elsewhere.
            Parts: wire, rpc, redis, postgres, slow, kit, hostile, webhooks.
            """, version: StrataVersion.description)

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case chat, fanout, typing, metadata, trees, receipts, connect, storm, idle, lists, rest, scale, databases
        case machines, curves
        case wire, rpc, redis, postgres, slow, kit, webhooks, hostile

        /// Scenarios that need only the public API.
        static let remote: [Part] = [.chat, .fanout, .typing, .metadata, .trees, .receipts, .connect, .storm, .lists]
    }

    @Argument(
        help: """
            What to measure. If nothing is named: everything but hostile, which takes long, and curves, which --plots \
            selects.
            """)
    var parts: [Part] = []

    @OptionGroup var load: LoadOptions
    @OptionGroup var remote: RemoteOptions
    @OptionGroup var components: ComponentOptions

    func validate() throws {
        if parts.contains(.curves), load.plots == nil { throw ValidationError("curves needs --plots FOLDER.") }
        let local = parts.filter { !Part.remote.contains($0) }
        if remote.url != nil, let first = local.first {
            throw ValidationError("\(first.rawValue) cannot be measured with --url.")
        }
    }

    /// The parts to measure, in order.
    private var chosen: [Part] {
        if !parts.isEmpty { return parts }
        if remote.url != nil { return Part.remote }
        let usual = Part.allCases.filter { $0 != .hostile && ($0 != .curves || load.plots != nil) }
        guard let obstacle = MachinesScenario.obstacle else { return usual }
        Progress.print("machines are not measured: the network between them \(obstacle)")
        return usual.filter { $0 != .machines }
    }

    func run() async throws {
        let loops = LoadLoops(load.loops)
        let target = try remote.target()
        let context = ScenarioContext(settings: load.settings, loops: loops, remote: target)
        var report = Report(
            strata: StrataVersion.description, date: Date(), processors: ProcessInfo.processInfo.activeProcessorCount)
        for part in chosen {
            if let reports = try await scenarios(part, context) {
                for scenario in reports { for line in scenario.lines { print(line) } }
                report.scenarios += reports
                if let file = load.json { try report.json().write(to: URL(fileURLWithPath: file)) }
            } else {
                for line in try await components.measure(part, seconds: load.seconds, runs: load.runs) { print(line) }
            }
        }
        try await target?.close()
        guard report.problems.isEmpty else {
            for problem in report.problems { Progress.print(problem) }
            throw ExitCode.failure
        }
    }

    /// Runs a scenario.
    /// - Returns: The reports; nil if the part is no scenario.
    private func scenarios(_ part: Part, _ context: ScenarioContext) async throws -> [ScenarioReport]? {
        switch part {
        case .chat: return [try await RoomScenario.chat(context.settings).run(context)]
        case .fanout: return [try await RoomScenario.fanOut(context.settings).run(context)]
        case .typing: return [try await RoomScenario.typing().run(context)]
        case .metadata: return [try await RoomScenario.metadata().run(context)]
        case .trees: return [try await TreeScenario.run(context)]
        case .receipts: return [try await ReceiptScenario.run(context)]
        case .connect: return [try await ConnectScenario.run(context)]
        case .storm: return [try await StormScenario.run(context)]
        case .idle: return [try await IdleScenario.run(context)]
        case .lists: return [try await ListScenario.run(context)]
        case .rest: return [try await RestingScenario.run(context)]
        case .scale: return [try await ScaleScenario.run(context)]
        case .databases: return [try await DatabasesScenario.run(context)]
        case .machines: return [try await MachinesScenario.run(context, plots: load.plots)]
        case .curves: return try await CurveScenario.run(context, plots: load.plots ?? "plots")
        case .wire, .rpc, .redis, .postgres, .slow, .kit, .webhooks, .hostile: return nil
        }
    }
}
