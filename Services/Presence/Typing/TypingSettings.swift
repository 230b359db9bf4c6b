// SPDX-License-Identifier: Apache-2.0

public import ServiceKit
import StrataModel

/// The periods of typing. Every instance must have the same, but for the time of a change from some to others.
public struct TypingSettings: Sendable {
    /// `STRATA_TYPING_PAUSE` (10s; 100ms to 10m): how long `started` lasts unless it is renewed; then it becomes `paused`.
    public var pauseAfter: Duration = .seconds(10)
    /// `STRATA_TYPING_FINISH` (10s; 100ms to 10m): how long `paused` lasts unless it is renewed; then it becomes `finished`.
    public var finishAfter: Duration = .seconds(10)
    /// `STRATA_TYPING_REPEAT` (2500ms; 0s to 10m): how often an unchanged state is announced again. Stock receivers forget a typist after 6 s.
    public var repeatAfter: Duration = .milliseconds(2500)
    /// `STRATA_TYPING_SWEEP` (100ms; 10ms to 5s): the mean time between two looks at what is due.
    public var sweepEvery: Duration = .milliseconds(100)
    /// `STRATA_TYPING_SWEEP_BATCH` (500; 1 to 10,000): states that one script ends at most; Redis does nothing else meanwhile.
    public var sweepBatch = 500

    /// The defaults.
    public init() {}

    /// Reads them.
    /// - Throws: `SettingsError` naming the key that cannot be used.
    public init(_ settings: Settings) throws {
        let periods = Duration.milliseconds(100) ... .seconds(600)
        pauseAfter = try settings.duration("STRATA_TYPING_PAUSE", default: pauseAfter, in: periods)
        finishAfter = try settings.duration("STRATA_TYPING_FINISH", default: finishAfter, in: periods)
        repeatAfter = try settings.duration("STRATA_TYPING_REPEAT", default: repeatAfter, in: .zero ... .seconds(600))
        sweepEvery = try settings.duration("STRATA_TYPING_SWEEP", default: sweepEvery, in: .milliseconds(10) ... .seconds(5))
        sweepBatch = try settings.int("STRATA_TYPING_SWEEP_BATCH", default: sweepBatch, in: 1...10_000)
    }

    /// How long the announcement of `action` is good for. A gateway that hears nothing more for so long has missed the end, or no
    /// instance could announce it, and tells its clients `finished` itself.
    ///
    /// The longest silence after `started`: a repetition that is not announced may come up to ``repeatAfter`` later, and then both periods run. The 2.5 s are
    /// for the sweep and the network.
    func goodFor(_ action: TypingAction) -> Duration {
        let margin = repeatAfter + max(.milliseconds(2500), sweepEvery * 2)
        return switch action {
        case .started: pauseAfter + finishAfter + margin
        case .paused: finishAfter + margin
        case .finished: .zero
        }
    }

    /// How long the keys outlive the last event, should no instance sweep.
    var timeToLive: Duration { pauseAfter + finishAfter + .seconds(60) }
}
