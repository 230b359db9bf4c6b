// SPDX-License-Identifier: Apache-2.0

/// A change of the connection.
public enum ConnectionEvent: Hashable, Sendable {
    /// The client will try to connect.
    /// - Parameters:
    ///   - number: the attempt, counted from 1 since the last stable connection.
    ///   - delay: the time until the attempt.
    ///   - maximum: the number of attempts after which the client gives up; nil: unlimited.
    case willAttempt(number: Int, delay: Duration, maximum: Int?)
    /// The connection is established.
    case connected
    /// The connection was lost. The client reconnects or requires a sign-in.
    case lost(StrataError)
    /// There is no connection, and the client does not try to reconnect. The error is nil if the app disconnected;
    /// otherwise it is the reason why the client gave up.
    case disconnected(StrataError?)
}
