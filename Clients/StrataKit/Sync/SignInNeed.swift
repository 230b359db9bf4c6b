// SPDX-License-Identifier: Apache-2.0

/// The way in which the app learns that the user must sign in again.
enum SignInNeed: Hashable, Sendable {
    /// A challenge. The nonce is nil if the server did not send one.
    case challenge(nonce: String?)
    /// An error thrown by the call that is connecting.
    case thrown
}

enum FirstAttempt: Hashable, Sendable {
    case connected
    /// The attempt failed; the engine retries or was stopped.
    case failed
    case signInNeeded
}
