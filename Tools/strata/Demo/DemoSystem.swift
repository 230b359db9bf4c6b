// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// The system that the demo uses: its gateways, and an app with its private key.
struct DemoSystem: Sendable {
    struct App: Sendable {
        let id: UUID
        let provider: UUID
        let key: UUID
        let privateKey: String
        /// True if the app was created for this demo.
        let isNew: Bool
    }

    let gateways: [ProtocolClient]
    let app: App
    /// The home of a system on this machine, whose state file shows restarted processes. nil for another system.
    let home: StrataHome?

    /// Returns the process ids that typing depends on, by process name; nil if they are unknown.
    func ephemeralProcesses() -> [String: Int32]? {
        guard let home, let state = try? RunningState.read(home.state) else { return nil }
        let processes =
            (state.instances(of: "presence") + state.instances(of: "redis") + state.instances(of: "gateway"))
            .map { ($0.name, $0.pid) }
        return Dictionary(processes) { $1 }
    }

    func identityToken(user: String, displayName: String, nonce: String) async throws -> String {
        try await IdentityToken(
            provider: app.provider, key: app.key, user: user, nonce: nonce, displayName: displayName
        )
        .signed(with: app.privateKey)
    }
}
