// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import StrataModel

/// The backlog of one hook in the database, in bytes.
struct HookBacklog: Decodable, Hashable {
    let hook: WebhookID
    let app: AppID
    let isInactive: Bool
    /// The time of the deactivation.
    let inactiveSince: StrataModel.Timestamp?
    let bytes: Int

    enum CodingKeys: String, CodingKey { case hook = "hookID", app = "appID", isInactive, inactiveSince, bytes }
}

/// The maximum backlogs, in bytes. An event is stored once and counts for each hook that waits for it.
struct BacklogLimits: Sendable {
    let hook: Int
    let app: Int

    /// A measure that reduces the backlog.
    enum Measure: Hashable, Sendable {
        /// The hook is deactivated.
        case end(WebhookID, reason: String)
        /// The backlog of an inactive hook is discarded.
        case discardBacklog(WebhookID)
    }

    /// Returns the measures against backlogs that exceed a limit:
    /// - An active hook over its limit is deactivated.
    /// - In an app over its limit, inactive hooks lose their backlogs, the longest inactive first.
    /// - If that is not enough, the app's active hook with the largest backlog is deactivated.
    func measures(for waiting: [HookBacklog]) -> [Measure] {
        let epoch = StrataModel.Timestamp(microseconds: 0)
        var measures: [Measure] = []
        for hooks in Dictionary(grouping: waiting, by: \.app).values {
            var left = hooks
            for large in hooks where !large.isInactive && large.bytes > hook {
                measures.append(.end(large.hook, reason: "More than \(Self.megabytes(hook)) of events waited for it"))
                left.removeAll { $0 == large }
            }
            // A hook that was just deactivated keeps its backlog, like all inactive hooks, until the app exceeds its
            // limit.
            var sum = hooks.reduce(0) { $0 + $1.bytes }
            let inactive = left.filter(\.isInactive)
                .sorted {
                    ($0.inactiveSince ?? epoch, $0.hook.description) < ($1.inactiveSince ?? epoch, $1.hook.description)
                }
            for old in inactive where sum > app && old.bytes > 0 {
                measures.append(.discardBacklog(old.hook))
                sum -= old.bytes
            }
            if sum > app, let largest = left.filter({ !$0.isInactive }).max(by: { $0.bytes < $1.bytes }) {
                let reason = """
                    More than \(Self.megabytes(app)) of events waited for the app's webhooks, \
                    and the most for this one
                    """
                measures.append(.end(largest.hook, reason: reason))
            }
        }
        return measures
    }

    private static func megabytes(_ bytes: Int) -> String { bytes >= 1 << 20 ? "\(bytes >> 20) MB" : "\(bytes) bytes" }
}
