// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// How much is being delivered, and how much more may be. A pure value.
///
/// A receiver that is slow or dead uses up the room of its own hook and host, and no other's, as long as the room for all is larger than what the slow ones
/// have together.
struct DeliveryRoom: Sendable {
    let perHook: Int
    let perHost: Int
    let total: Int
    private(set) var inFlight = 0
    private var ofHooks: [WebhookID: Int] = [:]
    private var ofHosts: [String: Int] = [:]

    init(perHook: Int, perHost: Int, total: Int) {
        self.perHook = perHook
        self.perHost = perHost
        self.total = total
    }

    /// How many lanes may be claimed now in all.
    var rest: Int { max(0, total - inFlight) }

    /// Of each hook that has room, how many lanes may be claimed now.
    func limits(for hooks: [(id: WebhookID, host: String)]) -> [(id: WebhookID, lanes: Int)] {
        hooks.compactMap { hook in
            let lanes = min(perHook - (ofHooks[hook.id] ?? 0), perHost - (ofHosts[hook.host] ?? 0))
            return lanes > 0 ? (id: hook.id, lanes: lanes) : nil
        }
    }

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
