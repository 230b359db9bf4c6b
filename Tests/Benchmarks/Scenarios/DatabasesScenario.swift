// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Chat in eight apps, in 1 to 3 databases, each on a PostgreSQL server of its own.
enum DatabasesScenario {
    private static let apps = 8
    private static let usualRate = 5000.0
    private static let window = 2
    private static let counts = [1, 2, 3]

    static func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try context.requireLocal("databases")
        let plan = RoomPlan(rooms: 40, members: 5, senders: 5, bytes: context.settings.bytes)
        var variants: [ScenarioVariant] = []
        for rate in context.settings.rates([usualRate]) {
            variants += group(
                "\(Report.text(rate)) deliveries/s", .rate(rate / Double(plan.members)), FigureName.operationTime, plan,
                context)
        }
        if context.settings.isSaturated {
            let mode = LoadMode.closed(window: context.settings.window ?? window)
            variants += group("saturated", mode, FigureName.deliveries, plan, context)
        }
        let reports = try await ScenarioVariant.interleave(variants, runs: context.settings.runs)
        return ScenarioReport(
            name: "chat in \(apps) apps by databases", unit: "1,000 deliveries", variants: reports)
    }

    /// Returns the variants of one mode. Each starts a system for each run, like ``ScaleScenario``.
    /// - Parameter figure: The figure that is compared with that of one database.
    private static func group(
        _ title: String, _ mode: LoadMode, _ figure: String, _ plan: RoomPlan, _ context: ScenarioContext
    ) -> [ScenarioVariant] {
        let titles = counts.map { "\($0) \($0 == 1 ? "database" : "databases"), \(title)" }
        return zip(counts, titles)
            .map { count, own in
                ScenarioVariant(
                    title: own, comparisons: count == counts[0] ? [] : [Comparison(figure, to: titles[0])]
                ) { try await measure(count, mode, plan, context) }
            }
    }

    private static func measure(
        _ databases: Int, _ mode: LoadMode, _ plan: RoomPlan, _ context: ScenarioContext
    ) async throws -> RunResult {
        let instances = context.settings.instances.merging(["databases": databases]) { $1 }
        return try await context.withTarget(instances: instances) { target in
            guard let system = target.system else { throw BenchProblem("the system runs elsewhere") }
            var targets: [LoadTarget] = []
            for number in 0..<apps {
                let tenant = try await system.tenant("app\(number)", database: number % databases)
                targets.append(try LoadTarget(tenant))
            }
            let load = try await RoomLoad.open(
                AppsTarget(targets, members: plan.members), plan, .messages, on: context.loops)
            try await load.warmUp(mode, seconds: 2)
            let run = try await load.measure(mode, seconds: context.settings.seconds)
            try await load.close()
            for target in targets { try await target.close() }
            try system.checkProcesses()
            return RunResult(run, operation: "messages", bounds: context.settings.bounds)
        }
    }
}

/// One system with several apps, which have a plan's conversations in turn.
struct AppsTarget: LoadedServer {
    /// The system from the view of each app.
    private let targets: [LoadTarget]
    /// The participants of a conversation.
    private let members: Int
    let addresses: [LoadAddress]
    /// The processes by service; nil: those of the targets.
    private let processes: [String: Set<Int>]?

    /// - Parameters:
    ///   - members: The participants of a conversation.
    ///   - addresses: The addresses of the gateways; nil: those of the targets.
    ///   - processes: The processes by service; nil: those of the targets.
    init(
        _ targets: [LoadTarget], members: Int, addresses: [LoadAddress]? = nil, processes: [String: Set<Int>]? = nil
    ) {
        self.targets = targets
        self.members = members
        self.addresses = addresses ?? targets[0].addresses
        self.processes = processes
    }

    /// Returns the system from the view of a user's app.
    private func target(of user: Int) -> LoadTarget { targets[user / members % targets.count] }

    func makeRooms(_ plan: RoomPlan) async throws -> [String] {
        for target in targets { try await target.signIn(users: plan.firstUser + plan.users) }
        return try await targets[0]
            .concurrently(0..<plan.rooms) { room in
                let users = (0..<plan.members).map { plan.user($0, of: room) }
                return try await target(of: users[0]).conversation(of: users, as: users[0])
            }
    }

    func path(ofUser user: Int, room: String, includesSender: Bool) -> String {
        target(of: user).path(ofUser: user, room: room, includesSender: includesSender)
    }

    func enter(_ socket: LoadSocket, ofUser user: Int, room: String) async throws {
        try await target(of: user).enter(socket, ofUser: user, room: room)
    }

    func token(_ user: Int) -> String { target(of: user).token(user) }

    func account() -> ProcessAccount? {
        processes.map { ProcessAccount(roots: $0) } ?? targets[0].account()
    }
}
