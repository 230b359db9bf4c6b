// SPDX-License-Identifier: Apache-2.0
package import NIOCore

/// The waiting times and intervals of the fan-out.
package struct FanOutTiming: Sendable {
    /// The time for which an early change waits for its predecessor.
    package var gapPatience = TimeAmount.milliseconds(100)
    /// The pause after a failed repair, and after a head that arrived before its change.
    package var repairPause = TimeAmount.milliseconds(250)
    /// The interval between comparisons of heads while pub/sub works.
    package var headsInterval = TimeAmount.seconds(15)
    /// The interval between comparisons of heads while pub/sub is unavailable.
    package var headsIntervalWhileAway = TimeAmount.seconds(1)
    /// The delay before heads are requested on signs of an epoch change. Services cache their last answer for 0.5 s.
    package var epochCheckDelay = TimeAmount.milliseconds(600)
    /// The time for which pub/sub still counts as unavailable after its return. Publishing services reconnect to Redis
    /// later than the gateway.
    package var mistrust = TimeAmount.seconds(20)
    /// The validity of a typing signal that does not state one. Such signals come from an older presence service with
    /// its default periods.
    package var typingSilence = TimeAmount.seconds(25)

    package init() {}

    /// Returns the duration of a ``ConversationFeed/Wait``.
    func amount(_ wait: ConversationFeed.Wait) -> TimeAmount {
        switch wait {
        case .gapPatience: gapPatience
        case .repairPause: repairPause
        case .none: .zero
        }
    }
}
