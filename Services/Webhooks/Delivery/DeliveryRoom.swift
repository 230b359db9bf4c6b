// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// How much is being delivered, and how much more may be. A pure value.
///
/// A receiver that is slow or dead uses up the room of its own hook and host. After some failures in a row its hook has little room until a delivery succeeds,
/// and all such hooks have half of the room for all together: there is room for others, however many receivers are dead.
struct DeliveryRoom: Sendable {
    let perHook: Int
    let perHost: Int
    let total: Int
    /// After so many failures in a row a hook is failing.
    static let patience = 8
    /// Lanes of a failing hook.
    static let lanesOfFailing = 2
    private(set) var inFlight = 0
    private var ofHooks: [WebhookID: Int] = [:]
    private var ofHosts: [String: Int] = [:]
    /// In a row.
    private var failures: [WebhookID: Int] = [:]

    init(perHook: Int, perHost: Int, total: Int) {
        self.perHook = perHook
        self.perHost = perHost
        self.total = total
    }

    /// How many lanes may be claimed now in all.
    var rest: Int { max(0, total - inFlight) }

    /// Of each hook that has room, how many lanes may be claimed now.
    func limits(for hooks: [(id: WebhookID, host: String)]) -> [(id: WebhookID, lanes: Int)] {
        var restOfFailing = total / 2 - ofHooks.reduce(0) { isFailing($1.key) ? $0 + $1.value : $0 }
        return hooks.compactMap { hook in
            let isFailing = isFailing(hook.id)
            let most = isFailing ? min(perHook, Self.lanesOfFailing) : perHook
            var lanes = min(most - (ofHooks[hook.id] ?? 0), perHost - (ofHosts[hook.host] ?? 0))
            if isFailing {
                lanes = min(lanes, restOfFailing)
                restOfFailing -= max(lanes, 0)
            }
            return lanes > 0 ? (id: hook.id, lanes: lanes) : nil
        }
    }

    private func isFailing(_ hook: WebhookID) -> Bool { (failures[hook] ?? 0) >= Self.patience }

    /// A delivery to a hook has failed or succeeded.
    mutating func note(hasFailed: Bool, _ hook: WebhookID) { failures[hook] = hasFailed ? min((failures[hook] ?? 0) + 1, Self.patience) : nil }

    /// Forgets what was noted of all hooks but these.
    mutating func forget(allBut hooks: Set<WebhookID>) { failures = failures.filter { hooks.contains($0.key) } }

    /// - Returns: whether there is room: several hooks of one host may have been given the same.
    mutating func begin(_ hook: WebhookID, at host: String) -> Bool {
        guard (ofHosts[host] ?? 0) < perHost else { return false }
        inFlight += 1
        ofHooks[hook, default: 0] += 1
        ofHosts[host, default: 0] += 1
        return true
    }

    mutating func end(_ hook: WebhookID, at host: String) {
        inFlight -= 1
        ofHooks[hook] = ofHooks[hook].flatMap { $0 > 1 ? $0 - 1 : nil }
        ofHosts[host] = ofHosts[host].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
}
