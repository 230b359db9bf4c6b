// SPDX-License-Identifier: Apache-2.0

/// The five executables of a system.
enum ServiceKind: String, CaseIterable, Sendable {
    case conversations, metadata, presence, webhooks, gateway

    /// True if the service receives RPC calls. A gateway only makes them.
    var takesCalls: Bool {
        self != .gateway
    }
}
