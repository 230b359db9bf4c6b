// SPDX-License-Identifier: Apache-2.0
package import NIOCore

/// Start times, pauses and timeouts of catch-ups.
package enum CatchUpTiming {
    /// The maximum time between a client's loading of its lists and the opening of its socket (docs/architecture.md
    /// §6).
    package static let openingMargin = Duration.seconds(10)
    /// The time after which a silent client is sent changes. A client that wants a replay requests it at once.
    package static let listenAfter = TimeAmount.seconds(2)
    /// The time by which a replay starts earlier than requested, because clocks differ and a change is stamped before
    /// it is committed.
    package static let replayMargin = Duration.seconds(30)
    /// The time in which a client must repeat a failed replay before its socket is closed. The longest pause of stock
    /// clients is 20 s. After eight attempts they keep the socket idle, and only its closing makes them start again.
    package static let replayPatience = TimeAmount.seconds(30)
    /// The first pause before a conversation that could not be sent is retried. Each further pause is twice as long, up
    /// to ``longestRetryPause``.
    package static let firstRetryPause = TimeAmount.seconds(5)
    package static let longestRetryPause = TimeAmount.seconds(300)
    /// The pause before a failed service call is repeated, in milliseconds.
    package static let servicePause: ClosedRange<Int64> = 500...1000
    /// The pause after reads without entries while the fan-out reports changes.
    package static let emptyReadPause = TimeAmount.milliseconds(250)
    /// The usual upper bound of the time until a baseline is answered.
    static let promptBaseline = Duration.seconds(1)
    static let longestBaseline = Duration.seconds(10)
}
