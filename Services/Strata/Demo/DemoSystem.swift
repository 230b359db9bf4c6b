// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// The system the demo plays against: its gateways, and an app whose key we hold.
struct DemoSystem: Sendable {
    struct App: Sendable {
        let id: UUID
        let provider: UUID
        let key: UUID
        let privateKey: String
        /// Whether the system has not been used before.
        let isNew: Bool
    }

    let gateways: [ProtocolClient]
    let app: App
    /// Of a system on this machine: tells when one of its processes was started again.
    let home: StrataHome?

    /// The processes that typing depends on, by name; nil if that cannot be known.
    func ephemeralProcesses() -> [String: Int32]? {
        guard let home, let state = try? RunningState.read(home.state) else { return nil }
        let processes = (state.instances(of: "presence") + state.instances(of: "redis") + state.instances(of: "gateway")).map { ($0.name, $0.pid) }
        return Dictionary(processes) { $1 }
    }

    func identityToken(user: String, displayName: String, nonce: String) async throws -> String {
        try await IdentityToken(provider: app.provider, key: app.key, user: user, nonce: nonce, displayName: displayName).signed(with: app.privateKey)
    }
}
