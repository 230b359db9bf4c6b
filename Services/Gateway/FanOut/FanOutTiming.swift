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
    /// How long after its return pub/sub counts as away all the same: the services that publish find Redis again later than we do.
    var mistrust = TimeAmount.seconds(20)
    /// A typist nobody heard of for this long is announced as finished by the gateway itself (ARCHITECTURE §7).
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
