// SPDX-License-Identifier: Apache-2.0

public import ServiceKit
import StrataModel

/// Typing timeouts. All instances must use the same values, except during a rolling change.
public struct TypingSettings: Sendable {
    /// The duration of `started` without renewal, after which it becomes `paused`. `STRATA_TYPING_PAUSE`: 100ms to 10m,
    /// default 10s.
    public var pauseAfter: Duration = .seconds(10)
    /// The duration of `paused` without renewal, after which it becomes `finished`. `STRATA_TYPING_FINISH`: 100ms to
    /// 10m, default 10s.
    public var finishAfter: Duration = .seconds(10)
    /// The interval at which an unchanged state is announced again. `STRATA_TYPING_REPEAT`: 0s to 10m, default 2500ms.
    /// Stock receivers forget a typist after 6 s.
    public var repeatAfter: Duration = .milliseconds(2500)
    /// The mean time between two sweeps. `STRATA_TYPING_SWEEP`: 10ms to 5s, default 100ms.
    public var sweepEvery: Duration = .milliseconds(100)
    /// The maximum number of states that one script ends. `STRATA_TYPING_SWEEP_BATCH`: 1 to 10,000, default 500. Redis
    /// runs no other command meanwhile.
    public var sweepBatch = 500

    /// Creates the default settings.
    public init() {}

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError`, which names the invalid key.
    public init(_ settings: Settings) throws {
        let periods = Duration.milliseconds(100) ... .seconds(600)
        pauseAfter = try settings.duration("STRATA_TYPING_PAUSE", default: pauseAfter, in: periods)
        finishAfter = try settings.duration("STRATA_TYPING_FINISH", default: finishAfter, in: periods)
        repeatAfter = try settings.duration("STRATA_TYPING_REPEAT", default: repeatAfter, in: .zero ... .seconds(600))
        sweepEvery = try settings.duration(
            "STRATA_TYPING_SWEEP", default: sweepEvery, in: .milliseconds(10) ... .seconds(5))
        sweepBatch = try settings.int("STRATA_TYPING_SWEEP_BATCH", default: sweepBatch, in: 1...10_000)
    }

    /// Returns the time for which an announcement of `action` is valid. A gateway that receives nothing more within
    /// that time sends its clients `finished` itself: the end was lost, or no instance could announce it.
    ///
    /// The time covers the longest silence after `started`: a renewal that is not announced can come up to
    /// ``repeatAfter`` later, and then both timeouts run. The additional 2.5 s cover the sweep and the network.
    func goodFor(_ action: TypingAction) -> Duration {
        let margin = repeatAfter + max(.milliseconds(2500), sweepEvery * 2)
        return switch action {
        case .started: pauseAfter + finishAfter + margin
        case .paused: finishAfter + margin
        case .finished: .zero
        }
    }

    /// The time after the last event at which the keys expire, in case no instance sweeps.
    var timeToLive: Duration { pauseAfter + finishAfter + .seconds(60) }
}
