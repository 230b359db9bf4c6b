// SPDX-License-Identifier: Apache-2.0

import ServiceKit

/// When an event that was not delivered is tried again.
public struct RetrySchedule: Hashable, Sendable {
    /// Before the first retries.
    public var first: [Duration]
    /// Before each later one.
    public var period: Duration
    /// For how long there are later ones.
    public var patience: Duration

    /// After 10, 30, 120, 300 and 1,200 seconds, then hourly for three days.
    public static let standard = RetrySchedule(
        first: [10, 30, 120, 300, 1200].map { .seconds($0) }, period: .seconds(3600), patience: .seconds(3 * 86_400))

    /// Takes these periods.
    public init(first: [Duration], period: Duration, patience: Duration) {
        self.first = first
        self.period = period
        self.patience = patience
    }

    /// Reads them.
    /// - Throws: `SettingsError` naming the key that cannot be used.
    init(_ settings: Settings) throws {
        self = .standard
        if let texts = try settings.optionalString("STRATA_WEBHOOKS_RETRY_AFTER")?.split(separator: ",") {
            first = try texts.map { text in
                let one = Settings(environment: ["STRATA_WEBHOOKS_RETRY_AFTER": String(text.filter { $0 != " " })])
                return try one.duration("STRATA_WEBHOOKS_RETRY_AFTER", in: .milliseconds(10) ... .seconds(86_400))
            }
        }
        period = try settings.duration("STRATA_WEBHOOKS_RETRY_EVERY", default: period, in: .milliseconds(10) ... .seconds(86_400))
        patience = try settings.duration("STRATA_WEBHOOKS_RETRY_FOR", default: patience, in: .zero ... .seconds(30 * 86_400))
    }

    /// The pause after the nth failure in a row, counted from 1; nil: there are no more retries.
    /// - Parameter failing: since the first of them. Where a receiver has more to fail than it can be asked in time, that ends the retries before their number does.
    func pause(after failures: Int, failingFor failing: Duration = .zero) -> Duration? {
        guard failing <= first.reduce(patience, +) + period else { return nil }
        guard failures > first.count else { return failures < 1 ? .zero : first[failures - 1] }
        return period * (failures - first.count) <= patience ? period : nil
    }
}
