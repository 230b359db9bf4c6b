// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetKit
import ServiceKit
import StrataModel
import Testing

@testable import Webhooks

@Suite("delivery schedule and limits")
struct ScheduleTests {
    @Test("retries come after 10, 30, 120, 300 and 1,200 s, then hourly for three days")
    func standard() {
        let schedule = RetrySchedule.standard
        #expect((1...5).map { schedule.pause(after: $0) } == [10, 30, 120, 300, 1200].map { .seconds($0) })
        #expect(schedule.pause(after: 6) == .seconds(3600))
        #expect(schedule.pause(after: 5 + 72) == .seconds(3600))
        #expect(schedule.pause(after: 5 + 73) == nil)
        // The same pause applies if there was not enough time for all retries.
        #expect(schedule.pause(after: 20, failingFor: .seconds(3 * 86_400)) == .seconds(3600))
        #expect(schedule.pause(after: 20, failingFor: .seconds(3 * 86_400 + 1660 + 3601)) == nil)
    }

    @Test("an operator can set other retry delays, and invalid ones are refused by name")
    func settings() throws {
        let settings = Settings(environment: [
            "STRATA_WEBHOOKS_RETRY_AFTER": "1s, 2m", "STRATA_WEBHOOKS_RETRY_EVERY": "10m",
            "STRATA_WEBHOOKS_RETRY_FOR": "1h",
        ])
        #expect(
            try RetrySchedule(settings)
                == RetrySchedule(first: [.seconds(1), .seconds(120)], period: .seconds(600), patience: .seconds(3600)))
        #expect(throws: SettingsError.self) {
            try RetrySchedule(Settings(environment: ["STRATA_WEBHOOKS_RETRY_AFTER": "1s,soon"]))
        }
    }

    private let now = ContinuousClock.now

    @Test("a hook, a host and all deliveries together have limits")
    func room() {
        var room = DeliveryRoom(perHook: 2, perHost: 3, total: 4, bytes: 1000, slowAfter: .seconds(1))
        let hooks = (0..<3).map { _ in WebhookID.random() }
        let places = [(hooks[0], "a"), (hooks[1], "a"), (hooks[2], "b")]
            .map { (id: $0.0, app: AppID(rawValue: $0.0.rawValue), host: $0.1) }
        #expect(room.limits(for: places, at: now).map { $0.lanes } == [2, 2, 2])
        #expect(room.freeLanes == 4)
        #expect({ room.begin(hooks[0], of: AppID(rawValue: hooks[0].rawValue), at: "a") }())
        #expect({ room.begin(hooks[0], of: AppID(rawValue: hooks[0].rawValue), at: "a") }())
        // The hook is full. Of the two remaining places, each of the other apps may have one.
        #expect(room.limits(for: places, at: now).map { $0.lanes } == [1, 1])
        #expect({ room.begin(hooks[1], of: AppID(rawValue: hooks[1].rawValue), at: "a") }())
        #expect(!{ room.begin(hooks[1], of: AppID(rawValue: hooks[1].rawValue), at: "a") }())
        #expect(room.limits(for: places, at: now).map { $0.id } == [hooks[2]])
        #expect({ room.begin(hooks[2], of: AppID(rawValue: hooks[2].rawValue), at: "b") }())
        #expect(room.freeLanes == 0)
        room.end(hooks[0], of: AppID(rawValue: hooks[0].rawValue), at: "a")
        // The free place is reserved for an app without deliveries.
        #expect(room.freeLanes == 1)
        #expect(room.limits(for: places, at: now).isEmpty)
    }

    @Test("repeatedly failing hooks have little capacity, at most half in total, until one success")
    func failing() {
        var room = DeliveryRoom(perHook: 10, perHost: 100, total: 12, bytes: 1000, slowAfter: .seconds(1))
        let hooks = (0..<5).map { _ in WebhookID.random() }
        let places = hooks.map { (id: $0, app: AppID(rawValue: $0.rawValue), host: "\($0)") }
        for hook in hooks.dropLast() {
            for _ in 0..<DeliveryRoom.mostFailures - 1 { room.record(hasFailed: true, took: .zero, of: hook) }
        }
        #expect(room.limits(for: places, at: now).map(\.lanes) == [6, 6, 6, 6, 6])
        for hook in hooks.dropLast() { room.record(hasFailed: true, took: .zero, of: hook) }
        #expect(room.limits(for: places, at: now).map(\.lanes) == [2, 2, 2, 6])
        #expect({ room.begin(hooks[0], of: AppID(rawValue: hooks[0].rawValue), at: "a") }())
        #expect(room.limits(for: places, at: now).map(\.lanes) == [1, 2, 2, 6])
        room.record(hasFailed: false, took: .zero, of: hooks[3])
        #expect(room.limits(for: places, at: now).map(\.lanes) == [1, 2, 2, 6, 6])
        room.forget(allBut: [])
        #expect(room.limits(for: places, at: now).map(\.lanes) == [5, 6, 6, 6, 6])
    }

    @Test("slow and failing hooks share half of the capacity, until they are fast again")
    func slow() {
        var room = DeliveryRoom(perHook: 10, perHost: 100, total: 24, bytes: 1000, slowAfter: .seconds(1))
        let hooks = (0..<4).map { _ in WebhookID.random() }
        let places = hooks.map { (id: $0, app: AppID(rawValue: $0.rawValue), host: "\($0)") }
        for hook in hooks.dropLast() { room.record(hasFailed: false, took: .seconds(1), of: hook) }
        #expect(room.limits(for: places, at: now).map(\.lanes) == [10, 10, 10, 10])
        for hook in hooks.dropLast() { room.record(hasFailed: false, took: .seconds(2), of: hook) }
        #expect(room.limits(for: places, at: now).map(\.lanes) == [10, 2, 10])
        for _ in 0..<10 { #expect({ room.begin(hooks[0], of: AppID(rawValue: hooks[0].rawValue), at: "a") }()) }
        #expect(room.limits(for: places, at: now).map(\.id) == [hooks[1], hooks[3]])
        #expect(room.limits(for: places, at: now).map(\.lanes) == [2, 7])
        // A hook that fails and is slow has the same limit as one that fails.
        for _ in 0..<DeliveryRoom.mostFailures { room.record(hasFailed: true, took: .seconds(2), of: hooks[0]) }
        for _ in 0..<9 { room.end(hooks[0], of: AppID(rawValue: hooks[0].rawValue), at: "a") }
        #expect(room.limits(for: places, at: now).map(\.lanes) == [1, 10, 10])
        room.record(hasFailed: false, took: .seconds(1), of: hooks[1])
        #expect(room.limits(for: places, at: now).map(\.lanes) == [1, 10, 10, 10])
        room.record(hasFailed: false, took: .seconds(2), of: hooks[1])
        room.forget(allBut: [])
        #expect(room.limits(for: places, at: now).map(\.lanes) == [9, 10, 10, 10])
        // Half of one place is rounded up to one.
        var least = DeliveryRoom(perHook: 1, perHost: 1, total: 1, bytes: 1000, slowAfter: .seconds(1))
        least.record(hasFailed: false, took: .seconds(2), of: hooks[0])
        #expect(least.limits(for: places, at: now).map(\.id) == hooks)
    }

    @Test("a slow hook without room takes none from the other hooks of its app")
    func slowBesideFast() {
        var room = DeliveryRoom(perHook: 8, perHost: 8, total: 16, bytes: 1000, slowAfter: .seconds(1))
        let (app, other) = (AppID(rawValue: UUID()), AppID(rawValue: UUID()))
        let (slow, fast, occupant) = (WebhookID.random(), WebhookID.random(), WebhookID.random())
        for hook in [slow, occupant] { room.record(hasFailed: false, took: .seconds(2), of: hook) }
        for _ in 0..<8 { #expect({ room.begin(occupant, of: other, at: "o") }()) }
        let limits = room.limits(for: [(id: slow, app: app, host: "s"), (id: fast, app: app, host: "f")], at: now)
        #expect(limits.map(\.id) == [fast])
        #expect(limits.map(\.lanes) == [4])
    }

    @Test("no app has more running lanes than stay free, so that another app gets half of the rest")
    func apps() {
        var room = DeliveryRoom(perHook: 32, perHost: 1000, total: 256, bytes: 1000, slowAfter: .seconds(1))
        let (greedy, honest) = (AppID(rawValue: UUID()), AppID(rawValue: UUID()))
        let hooks = (0..<20).map { _ in WebhookID.random() }
        let places = hooks.map { (id: $0, app: greedy, host: "\($0)") }
        for _ in 0..<20 {
            for limit in room.limits(for: places, at: now) {
                for _ in 0..<limit.lanes { #expect({ room.begin(limit.id, of: greedy, at: "\(limit.id)") }()) }
            }
        }
        #expect(room.inFlight == 128)
        let other = WebhookID.random()
        #expect(room.limits(for: places + [(id: other, app: honest, host: "h")], at: now).map(\.id) == [other])
        #expect(room.limits(for: [(id: other, app: honest, host: "h")], at: now).map(\.lanes) == [32])
    }

    @Test("no app reserves more bytes than stay free")
    func bytes() {
        var room = DeliveryRoom(perHook: 1, perHost: 1, total: 1, bytes: 1000, slowAfter: .seconds(1))
        let (greedy, honest) = (AppID(rawValue: UUID()), AppID(rawValue: UUID()))
        #expect({ room.reserve(500, for: greedy) }())
        #expect(!{ room.reserve(1, for: greedy) }())
        #expect({ room.reserve(250, for: honest) }())
        #expect(!{ room.reserve(1, for: honest) }())
        room.release(500, of: greedy)
        #expect(room.heldBytes == 250)
        #expect({ room.reserve(375, for: greedy) }())
    }

    @Test(
        "a hook with an excessive backlog ends; an app's inactive hooks lose theirs first, then the largest hook ends")
    func waiting() {
        let limits = BacklogLimits(hook: 100, app: 250)
        let (app, other) = (AppID(rawValue: UUID()), AppID(rawValue: UUID()))
        func waits(_ app: AppID, _ bytes: Int, inactiveSince time: Int64? = nil) -> HookBacklog {
            HookBacklog(
                hook: .random(), app: app, isInactive: time != nil,
                inactiveSince: time.map { StrataModel.Timestamp(microseconds: $0) }, bytes: bytes)
        }
        func ended(_ waiting: [HookBacklog]) -> [WebhookID] {
            limits.measures(for: waiting).compactMap { if case .end(let id, _) = $0 { id } else { nil } }
        }
        func givenAway(_ waiting: [HookBacklog]) -> [WebhookID] {
            limits.measures(for: waiting).compactMap { if case .discardBacklog(let id) = $0 { id } else { nil } }
        }
        let (large, small) = (waits(app, 101), waits(app, 100))
        #expect(ended([large, small, waits(other, 100)]) == [large.hook])
        let (old, young) = (waits(app, 90, inactiveSince: 1), waits(app, 90, inactiveSince: 2))
        #expect(limits.measures(for: [young, old, waits(app, 70)]).isEmpty)
        #expect(givenAway([young, old, waits(app, 71)]) == [old.hook])
        #expect(ended([young, old, waits(app, 71)]) == [])
        let several = [waits(app, 90), waits(app, 95), waits(app, 66)]
        #expect(ended(several) == [several[1].hook])
        #expect(ended(several + [waits(app, 1, inactiveSince: 1)]) == [several[1].hook])
    }

    @Test("verifications are limited: one per hook, and several per app and host")
    func verifications() {
        let room = VerificationRoom()
        let (app, id) = (AppID(rawValue: UUID()), WebhookID.random())
        #expect(room.begin(id, of: app, at: "a"))
        #expect(!room.begin(id, of: app, at: "a"))
        for _ in 1..<VerificationRoom.mostOfApp { #expect(room.begin(.random(), of: app, at: "a")) }
        #expect(!room.begin(.random(), of: app, at: "b"))
        let others = (0..<VerificationRoom.mostOfHost).map { _ in AppID(rawValue: UUID()) }
        #expect(
            others.filter { room.begin(.random(), of: $0, at: "a") }.count == VerificationRoom.mostOfHost
                - VerificationRoom.mostOfApp)
        #expect(room.begin(.random(), of: others[7], at: "b"))
        room.end(id, of: app, at: "a")
        #expect(room.begin(.random(), of: app, at: "b"))
    }

    @Test("a held hook's lanes are not claimed until its hold ends")
    func held() {
        var room = DeliveryRoom(perHook: 10, perHost: 100, total: 24, bytes: 1000, slowAfter: .seconds(1))
        let hooks = (0..<2).map { _ in WebhookID.random() }
        let places = hooks.map { (id: $0, app: AppID(rawValue: $0.rawValue), host: "\($0)") }
        room.suspend(hooks[0], until: now + .seconds(1))
        #expect(room.limits(for: places, at: now).map(\.id) == [hooks[1]])
        #expect(room.limits(for: places, at: now + .seconds(1)).map(\.id) == hooks)
    }

    @Test("work that does not end in time is abandoned")
    func limited() async {
        let end = Wakeup()
        let late = await within(.milliseconds(1)) { () -> Int in
            // This wait cannot be cancelled.
            await Task { await end.wait() }.value
            return 1
        }
        #expect(late == nil)
        end.signal()
        #expect(await within(.seconds(3600)) { 2 } == 2)
    }
}
