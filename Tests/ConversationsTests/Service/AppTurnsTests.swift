// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

@Suite("turns of apps in a background task")
struct AppTurnsTests {
    private let victim = AppID.random()
    private let hostile = AppID.random()

    /// Serves apps whose turns take the given times.
    /// - Returns: The total time of each app.
    private func serve(
        _ costs: [AppID: Duration], turns count: Int, _ turns: inout AppTurns
    ) throws -> [AppID: Duration] {
        var served: [AppID: Duration] = [:]
        for _ in 0..<count {
            let next = turns.next(among: costs.keys)
            let app = try #require(next)
            turns.charge(costs[app] ?? .zero, to: app)
            served[app, default: .zero] += costs[app] ?? .zero
        }
        return served
    }

    @Test("apps whose turns take the same time alternate")
    func alternate() {
        var turns = AppTurns()
        var order: [AppID] = []
        for _ in 0..<100 {
            guard let app = turns.next(among: [victim, hostile]) else { break }
            turns.charge(.milliseconds(5), to: app)
            order.append(app)
        }
        #expect(order.count { $0 == victim } == 50)
        #expect(!zip(order, order.dropFirst()).contains { $0 == $1 })
    }

    @Test("an app gets half of the time however long another app's turns take, and an equal share among more apps")
    func slowTurns() throws {
        var turns = AppTurns()
        let served = try serve([victim: .milliseconds(2), hostile: .milliseconds(500)], turns: 3000, &turns)
        let (own, other) = (try #require(served[victim]), try #require(served[hostile]))
        #expect(own + .milliseconds(500) >= other)
        turns = AppTurns()
        var costs = Dictionary(uniqueKeysWithValues: (0..<9).map { _ in (AppID.random(), Duration.milliseconds(30)) })
        costs[victim] = .milliseconds(1)
        let shares = try serve(costs, turns: 3000, &turns)
        let all = shares.values.reduce(.zero, +)
        #expect(try #require(shares[victim]) >= all / 11)
    }

    @Test("a new app has no claim to earlier time, and a short absence gains nothing")
    func coming() throws {
        var turns = AppTurns()
        _ = try serve([hostile: .seconds(1)], turns: 1000, &turns)
        var first: [AppID] = []
        for _ in 0..<20 {
            let next = turns.next(among: [victim, hostile])
            let app = try #require(next)
            turns.charge(.seconds(1), to: app)
            first.append(app)
        }
        #expect((9...11).contains(first.count { $0 == victim }))
        turns.charge(.seconds(100), to: hostile)
        let next = turns.next(among: [victim])
        #expect(next == victim)
        for _ in 0..<90 {
            let next = turns.next(among: [hostile, victim])
            #expect(next == victim)
            turns.charge(.seconds(1), to: victim)
        }
    }

    @Test("no state remains when no app has work")
    func idle() {
        var turns = AppTurns()
        turns.charge(.seconds(100), to: hostile)
        let next = turns.next(among: [AppID]())
        #expect(next == nil)
        var order: Set<AppID> = []
        for _ in 0..<2 {
            guard let app = turns.next(among: [victim, hostile]) else { break }
            turns.charge(.seconds(1), to: app)
            order.insert(app)
        }
        #expect(order == [victim, hostile])
    }
}
