// SPDX-License-Identifier: Apache-2.0

/// Events of the connection.
public enum ConnectionEvent: Hashable, Sendable {
    /// The client will try to connect.
    /// - Parameters:
    ///   - number: 1 for the first attempt since the client was last connected for a while.
    ///   - delay: the time until then.
    ///   - maximum: how many attempts are made before the client gives up; nil: it does not give up.
    case willAttempt(number: Int, delay: Duration, maximum: Int?)
    /// There is a connection.
    case connected
    /// The connection was lost. The client tries to connect again, or asks for the user to be signed in.
    case lost(StrataError)
    /// There is no connection, and none is tried for: the app has disconnected, or the client has given up for the given reason.
    case disconnected(StrataError?)
}
