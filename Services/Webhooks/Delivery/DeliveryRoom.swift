// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// The limits of this instance on concurrent deliveries, in lanes and bytes, with their current use. A pure value.
///
/// A lane consists of the events of one hook and subject, sent in order. It counts from its claim to its result.
///
/// An app may use at most as many lanes and bytes as remain free: a single app gets half of them, the next app half of
/// the rest. So an app with slow receivers does not delay other apps.
///
/// Hooks and hosts have their own limits:
/// - Slow hooks, and hooks with ``mostFailures`` consecutive failures, share half of the lanes.
/// - A failing hook gets ``lanesOfFailing`` lanes until a delivery succeeds.
///
/// Therefore other hooks have room, for any number of slow or dead receivers, once the first answers of slow receivers
/// have arrived.
struct DeliveryRoom: Sendable {
    /// The maximum number of lanes of a hook.
    let perHook: Int
    /// The maximum number of lanes of all hooks of one receiver, by host and port.
    let perHost: Int
    /// The maximum number of lanes of this instance.
    let total: Int
    /// The maximum size of events and requests in memory, in bytes.
    let bytes: Int
    /// The delivery time above which a hook counts as slow.
    let slowAfter: Duration
    /// The number of consecutive failures after which a hook counts as failing.
    static let mostFailures = 8
    /// The maximum number of lanes of a failing hook.
    static let lanesOfFailing = 2
    /// The number of lanes in use.
    private(set) var inFlight = 0
    /// The number of reserved bytes.
    private(set) var heldBytes = 0
    private var lanesOfApps: [AppID: Int] = [:]
    private var bytesOfApps: [AppID: Int] = [:]
    private var lanesOfHooks: [WebhookID: Int] = [:]
    private var lanesOfHosts: [String: Int] = [:]
    /// The number of consecutive failures, up to ``mostFailures``.
    private var failures: [WebhookID: Int] = [:]
    private var slow: Set<WebhookID> = []
    /// Hooks that are excluded from claims until the given time.
    private var suspended: [WebhookID: ContinuousClock.Instant] = [:]

    init(perHook: Int, perHost: Int, total: Int, bytes: Int, slowAfter: Duration) {
        self.perHook = perHook
        self.perHost = perHost
        self.total = total
        self.bytes = bytes
        self.slowAfter = slowAfter
    }

    /// The number of free lanes.
    var freeLanes: Int { max(0, total - inFlight) }

    /// Returns an upper limit on the lanes that may be claimed for each hook that has room. The sum may exceed
    /// ``freeLanes``.
    func limits(
        for hooks: [(id: WebhookID, app: AppID, host: String)], at now: ContinuousClock.Instant
    ) -> [(id: WebhookID, lanes: Int)] {
        var degradedCapacity = max(total / 2, 1) - lanesOfHooks.reduce(0) { isDegraded($1.key) ? $0 + $1.value : $0 }
        var restOfApps: [AppID: Int] = [:]
        return hooks.compactMap { hook in
            if let end = suspended[hook.id], now < end { return nil }
            let most = isFailing(hook.id) ? min(perHook, Self.lanesOfFailing) : perHook
            var lanes = min(most - (lanesOfHooks[hook.id] ?? 0), perHost - (lanesOfHosts[hook.host] ?? 0))
            let restOfApp = restOfApps[hook.app] ?? lanesLeft(of: hook.app)
            lanes = min(lanes, restOfApp)
            if isDegraded(hook.id) { lanes = min(lanes, degradedCapacity) }
            guard lanes > 0 else { return nil }
            if isDegraded(hook.id) { degradedCapacity -= lanes }
            restOfApps[hook.app] = restOfApp - lanes
            return (id: hook.id, lanes: lanes)
        }
    }

    /// Returns the number of lanes that an app may begin: half of the lanes that remain for it, or one if it holds no
    /// lane yet.
    private func lanesLeft(of app: AppID) -> Int {
        let held = lanesOfApps[app] ?? 0
        return max((freeLanes - held + 1) / 2, held == 0 ? min(1, freeLanes) : 0)
    }

    private func isFailing(_ hook: WebhookID) -> Bool { (failures[hook] ?? 0) >= Self.mostFailures }

    /// Returns true if the hook is failing or slow, so that it shares half of the lanes with others of its kind.
    private func isDegraded(_ hook: WebhookID) -> Bool { isFailing(hook) || slow.contains(hook) }

    /// Records the result of a delivery attempt, by which a hook counts as failing or slow.
    mutating func record(hasFailed: Bool, took time: Duration, of hook: WebhookID) {
        failures[hook] = hasFailed ? min((failures[hook] ?? 0) + 1, Self.mostFailures) : nil
        if time > slowAfter { slow.insert(hook) } else { slow.remove(hook) }
    }

    /// Excludes a hook from claims until `end`, because its events cannot be read or its receiver cannot be called.
    mutating func suspend(_ hook: WebhookID, until end: ContinuousClock.Instant) { suspended[hook] = end }

    /// Removes the failures, slow marks and suspensions of all hooks except the active ones. Lanes in use stay counted.
    mutating func forget(allBut hooks: Set<WebhookID>) {
        failures = failures.filter { hooks.contains($0.key) }
        slow.formIntersection(hooks)
        suspended = suspended.filter { hooks.contains($0.key) }
    }

    /// Begins a lane.
    /// - Returns: false if the host has no room, because several hooks of the host may have been granted the same
    ///   lanes.
    mutating func begin(_ hook: WebhookID, of app: AppID, at host: String) -> Bool {
        guard (lanesOfHosts[host] ?? 0) < perHost else { return false }
        inFlight += 1
        lanesOfApps[app, default: 0] += 1
        lanesOfHooks[hook, default: 0] += 1
        lanesOfHosts[host, default: 0] += 1
        return true
    }

    /// Ends a lane.
    mutating func end(_ hook: WebhookID, of app: AppID, at host: String) {
        inFlight -= 1
        lanesOfApps[app] = lanesOfApps[app].flatMap { $0 > 1 ? $0 - 1 : nil }
        lanesOfHooks[hook] = lanesOfHooks[hook].flatMap { $0 > 1 ? $0 - 1 : nil }
        lanesOfHosts[host] = lanesOfHosts[host].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    // MARK: Bytes

    /// Reserves bytes for an app. Returns false if the app would then hold more than remain free. Unlike lanes, bytes
    /// have no minimum per app.
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
