// SPDX-License-Identifier: Apache-2.0

import StrataModel
import Synchronization

/// The limits on concurrent verifications of this instance: one per hook, and a few per app and per host. A
/// verification over a limit waits until its lease ends. So no app can use up the instance, or make it call a foreign
/// host repeatedly.
final class VerificationRoom: Sendable {
    static let mostOfApp = 4
    static let mostOfHost = 8
    static let most = 32

    private struct State {
        var hooks: Set<WebhookID> = []
        var apps: [AppID: Int] = [:]
        var hosts: [String: Int] = [:]
    }

    private let state = Mutex(State())

    /// Begins a verification. If it returns true, ``end(_:of:at:)`` must be called.
    func begin(_ hook: WebhookID, of app: AppID, at host: String) -> Bool {
        state.withLock { state in
            let (ofApp, ofHost) = (state.apps[app] ?? 0, state.hosts[host] ?? 0)
            guard !state.hooks.contains(hook), state.hooks.count < Self.most, ofApp < Self.mostOfApp,
                ofHost < Self.mostOfHost
            else { return false }
            state.hooks.insert(hook)
            state.apps[app] = ofApp + 1
            state.hosts[host] = ofHost + 1
            return true
        }
    }

    func end(_ hook: WebhookID, of app: AppID, at host: String) {
        state.withLock { state in
            state.hooks.remove(hook)
            state.apps[app] = state.apps[app].flatMap { $0 > 1 ? $0 - 1 : nil }
            state.hosts[host] = state.hosts[host].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }
}
