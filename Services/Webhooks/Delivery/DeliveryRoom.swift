// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// The lanes and bytes that are being delivered, and those that more may be. A pure value.
///
/// No app has more lanes than are free, nor more bytes: one app alone has half of them, and the next one finds half of the rest. So an app whose receivers
/// are slow delays no other.
///
/// A hook and a host have bounds of their own. A hook whose receiver is slow, or has failed some times in a row, shares half of the room with all others of that
/// kind; one that fails has little of it, until a delivery succeeds. So there is room for the others, however many receivers are slow or dead, as soon as the
/// first answers of the slow ones have come.
struct DeliveryRoom: Sendable {
    let perHook: Int
    let perHost: Int
    let total: Int
    /// The most bytes of events and requests in memory.
    let bytes: Int
    /// A hook whose last delivery took longer is slow.
    let slowAfter: Duration
    /// After so many failures in a row a hook is failing.
    static let mostFailures = 8
    static let lanesOfFailing = 2
    private(set) var inFlight = 0
    private(set) var heldBytes = 0
    private var lanesOfApps: [AppID: Int] = [:]
    private var bytesOfApps: [AppID: Int] = [:]
    private var ofHooks: [WebhookID: Int] = [:]
    private var ofHosts: [String: Int] = [:]
    /// In a row.
    private var failures: [WebhookID: Int] = [:]
    private var slow: Set<WebhookID> = []
    /// Hooks of which nothing is claimed until then.
    private var held: [WebhookID: ContinuousClock.Instant] = [:]

    init(perHook: Int, perHost: Int, total: Int, bytes: Int, slowAfter: Duration) {
        self.perHook = perHook
        self.perHost = perHost
        self.total = total
        self.bytes = bytes
        self.slowAfter = slowAfter
    }

    /// How many lanes may be claimed now in all.
    var rest: Int { max(0, total - inFlight) }

    /// Of each hook that has room, how many lanes may be claimed now.
    func limits(for hooks: [(id: WebhookID, app: AppID, host: String)], at now: ContinuousClock.Instant) -> [(id: WebhookID, lanes: Int)] {
        var restOfHalf = max(total / 2, 1) - ofHooks.reduce(0) { isInHalf($1.key) ? $0 + $1.value : $0 }
        var restOfApps: [AppID: Int] = [:]
        return hooks.compactMap { hook in
            if let end = held[hook.id], now < end { return nil }
            let most = isFailing(hook.id) ? min(perHook, Self.lanesOfFailing) : perHook
            var lanes = min(most - (ofHooks[hook.id] ?? 0), perHost - (ofHosts[hook.host] ?? 0))
            let restOfApp = restOfApps[hook.app] ?? lanesLeft(of: hook.app)
            lanes = min(lanes, restOfApp)
            restOfApps[hook.app] = restOfApp - max(lanes, 0)
            if isInHalf(hook.id) {
                lanes = min(lanes, restOfHalf)
                restOfHalf -= max(lanes, 0)
            }
            return lanes > 0 ? (id: hook.id, lanes: lanes) : nil
        }
    }

    /// The lanes that an app may begin now: as many as are left when the rest is halved, and one where it has none.
    private func lanesLeft(of app: AppID) -> Int {
        let held = lanesOfApps[app] ?? 0
        return max((rest - held + 1) / 2, held == 0 ? min(1, rest) : 0)
    }

    private func isFailing(_ hook: WebhookID) -> Bool { (failures[hook] ?? 0) >= Self.mostFailures }

    private func isInHalf(_ hook: WebhookID) -> Bool { isFailing(hook) || slow.contains(hook) }

    mutating func note(hasFailed: Bool, took time: Duration, _ hook: WebhookID) {
        failures[hook] = hasFailed ? min((failures[hook] ?? 0) + 1, Self.mostFailures) : nil
        if time > slowAfter { slow.insert(hook) } else { slow.remove(hook) }
    }

    /// Nothing of a hook is to be claimed for a while: its events cannot be read, or its receiver cannot be asked.
    mutating func hold(_ hook: WebhookID, until end: ContinuousClock.Instant) { held[hook] = end }

    /// Forgets what was noted of all hooks but these.
    mutating func forget(allBut hooks: Set<WebhookID>) {
        failures = failures.filter { hooks.contains($0.key) }
        slow.formIntersection(hooks)
        held = held.filter { hooks.contains($0.key) }
    }

    /// - Returns: whether there is room: several hooks of one host may have been given the same.
    mutating func begin(_ hook: WebhookID, of app: AppID, at host: String) -> Bool {
        guard (ofHosts[host] ?? 0) < perHost else { return false }
        inFlight += 1
        lanesOfApps[app, default: 0] += 1
        ofHooks[hook, default: 0] += 1
        ofHosts[host, default: 0] += 1
        return true
    }

    mutating func end(_ hook: WebhookID, of app: AppID, at host: String) {
        inFlight -= 1
        lanesOfApps[app] = lanesOfApps[app].flatMap { $0 > 1 ? $0 - 1 : nil }
        ofHooks[hook] = ofHooks[hook].flatMap { $0 > 1 ? $0 - 1 : nil }
        ofHosts[host] = ofHosts[host].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    // MARK: Bytes

    /// Reserves bytes for an app, if it would not have more than are left.
    mutating func reserve(_ count: Int, for app: AppID) -> Bool {
        let held = bytesOfApps[app] ?? 0
        guard held + count <= bytes - heldBytes - count else { return false }
        heldBytes += count
        bytesOfApps[app] = held + count
        return true
    }

    mutating func release(_ count: Int, of app: AppID) {
        heldBytes -= count
        bytesOfApps[app] = bytesOfApps[app].flatMap { $0 > count ? $0 - count : nil }
    }
}
