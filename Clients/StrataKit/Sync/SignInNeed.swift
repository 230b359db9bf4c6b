// SPDX-License-Identifier: Apache-2.0

/// How the app learns that the user must sign in again.
enum SignInNeed: Hashable, Sendable {
    /// By a challenge; the nonce is that of the server, if it has sent one.
    case challenge(nonce: String?)
    /// By an error of the call that is connecting.
    case thrown
}

/// How the first attempt to connect has ended.
enum FirstAttempt: Hashable, Sendable {
    case connected
    /// The engine tries again, or was stopped.
    case failed
    case signInNeeded
}
