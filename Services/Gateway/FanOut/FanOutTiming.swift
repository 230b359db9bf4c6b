// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// How long things may take before the log is asked.
struct FanOutTiming: Sendable {
    /// A change ahead of the sequence waits this long for its predecessor.
    var gapPatience = TimeAmount.milliseconds(100)
    /// Pause after a repair that failed, and after a head that was seen before its change.
    var repairPause = TimeAmount.milliseconds(250)
    /// How often heads are compared while pub/sub works, and while it does not.
    var headsInterval = TimeAmount.seconds(15)
    var headsIntervalWhileAway = TimeAmount.seconds(1)
    /// Pause before heads are asked for because something speaks for another history of the database: a service gives its last answer for half a second.
    var doubt = TimeAmount.milliseconds(600)
    /// How long after its return pub/sub counts as away all the same: the services that publish find Redis again later than we do.
    var mistrust = TimeAmount.seconds(20)
    /// How long a typing signal is good for that does not say so: one from a presence service of an older version, with its default periods.
    var typingSilence = TimeAmount.seconds(25)

    init() {}

    init(_ settings: GatewaySettings) {
        gapPatience = TimeAmount(settings.gapPatience)
        headsInterval = TimeAmount(settings.headsInterval)
    }

    /// How long a wait of a ``ConversationFeed`` is.
    func amount(_ wait: ConversationFeed.Wait) -> TimeAmount {
        switch wait {
        case .gapPatience: gapPatience
        case .repairPause: repairPause
        case .none: .zero
        }
    }
}
