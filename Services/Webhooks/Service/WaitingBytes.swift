// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// The bytes of events that one hook has waiting in the database.
struct WaitingBytes: Sendable, Hashable {
    let hook: WebhookID
    let app: AppID
    let isInactive: Bool
    /// The microseconds since 1970 at which it became inactive.
    let inactiveSince: Int64?
    let bytes: Int
}

/// The bytes that may wait. An event counts once for each hook that it waits for, though it is stored once.
struct WaitingLimits: Sendable {
    let hook: Int
    let app: Int

    /// A measure by which less waits.
    enum Measure: Hashable, Sendable {
        /// The hook becomes inactive.
        case end(WebhookID, reason: String)
        /// An inactive hook loses what it was not told.
        case giveAway(WebhookID)
    }

    /// Decides what happens to hooks with too many bytes, and to those of an app that has too many: first the inactive ones lose theirs, the longest inactive one
    /// first; then the hook with the most ends.
    func measures(for waiting: [WaitingBytes]) -> [Measure] {
        var measures: [Measure] = []
        for hooks in Dictionary(grouping: waiting, by: \.app).values {
            var left = hooks
            for large in hooks where !large.isInactive && large.bytes > hook {
                measures.append(.end(large.hook, reason: "More than \(Self.megabytes(hook)) of events waited for it"))
                left.removeAll { $0 == large }
            }
            // What a hook has that has just ended stays, like that of all inactive ones, until the app has too much.
            var sum = hooks.reduce(0) { $0 + $1.bytes }
            let inactive = left.filter(\.isInactive)
                .sorted { ($0.inactiveSince ?? 0, $0.hook.description) < ($1.inactiveSince ?? 0, $1.hook.description) }
            for old in inactive where sum > app && old.bytes > 0 {
                measures.append(.giveAway(old.hook))
                sum -= old.bytes
            }
            if sum > app, let largest = left.filter({ !$0.isInactive }).max(by: { $0.bytes < $1.bytes }) {
                let reason = "More than \(Self.megabytes(app)) of events waited for the app's webhooks, and the most for this one"
                measures.append(.end(largest.hook, reason: reason))
            }
        }
        return measures
    }

    private static func megabytes(_ bytes: Int) -> String { bytes >= 1 << 20 ? "\(bytes >> 20) MB" : "\(bytes) bytes" }
}
