// SPDX-License-Identifier: Apache-2.0

import ServiceKit

/// The retry schedule of failed deliveries.
public struct RetrySchedule: Hashable, Sendable {
    /// The pauses before the first retries.
    public var first: [Duration]
    /// The pause before each later retry.
    public var period: Duration
    /// The period in which later retries take place.
    public var patience: Duration

    /// The default: retries after 10, 30, 120, 300 and 1,200 seconds, then hourly for three days.
    public static let standard = RetrySchedule(
        first: [10, 30, 120, 300, 1200].map { .seconds($0) }, period: .seconds(3600), patience: .seconds(3 * 86_400))

    /// Creates a schedule with these periods.
    public init(first: [Duration], period: Duration, patience: Duration) {
        self.first = first
        self.period = period
        self.patience = patience
    }

    /// Reads the schedule from the environment.
    /// - Throws: `SettingsError`, which names the invalid key.
    init(_ settings: Settings) throws {
        self = .standard
        if let texts = try settings.optionalString("STRATA_WEBHOOKS_RETRY_AFTER")?.split(separator: ",") {
            first = try texts.map { text in
                let one = Settings(environment: ["STRATA_WEBHOOKS_RETRY_AFTER": String(text.filter { $0 != " " })])
                return try one.duration("STRATA_WEBHOOKS_RETRY_AFTER", in: .milliseconds(10) ... .seconds(86_400))
            }
        }
        period = try settings.duration(
            "STRATA_WEBHOOKS_RETRY_EVERY", default: period, in: .milliseconds(10) ... .seconds(86_400))
        patience = try settings.duration(
            "STRATA_WEBHOOKS_RETRY_FOR", default: patience, in: .zero ... .seconds(30 * 86_400))
    }

    /// Returns the pause after the nth consecutive failure, counted from 1; nil if there are no further retries.
    /// - Parameter failing: the time since the first of these failures. It limits the retries if the receiver has so
    ///   large a failing backlog that retries are late.
    func pause(after failures: Int, failingFor failing: Duration = .zero) -> Duration? {
        guard failing <= first.reduce(patience, +) + period else { return nil }
        guard failures > first.count else { return failures < 1 ? .zero : first[failures - 1] }
        return period * (failures - first.count) <= patience ? period : nil
    }
}
