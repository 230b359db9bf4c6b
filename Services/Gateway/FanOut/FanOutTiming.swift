// SPDX-License-Identifier: Apache-2.0
package import NIOCore

/// How long things may take before the log is asked.
package struct FanOutTiming: Sendable {
    /// A change ahead of the sequence waits this long for its predecessor.
    package var gapPatience = TimeAmount.milliseconds(100)
    /// Pause after a repair that failed, and after a head that was seen before its change.
    package var repairPause = TimeAmount.milliseconds(250)
    /// How often heads are compared while pub/sub works, and while it does not.
    package var headsInterval = TimeAmount.seconds(15)
    package var headsIntervalWhileAway = TimeAmount.seconds(1)
    /// Pause before heads are asked for because something speaks for another history of the database: a service gives its last answer for half a second.
    package var doubt = TimeAmount.milliseconds(600)
    /// How long after its return pub/sub counts as away all the same: the services that publish find Redis again later than we do.
    package var mistrust = TimeAmount.seconds(20)
    /// How long a typing signal is good for that does not say so: one from a presence service of an older version, with its default periods.
    package var typingSilence = TimeAmount.seconds(25)

    package init() {}

    /// How long a wait of a ``ConversationFeed`` is.
    func amount(_ wait: ConversationFeed.Wait) -> TimeAmount {
        switch wait {
        case .gapPatience: gapPatience
        case .repairPause: repairPause
        case .none: .zero
        }
    }
}
