// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The order in which a background task serves apps: the app with the shortest service time is next. So an app with
/// slow or endless work leaves each other app the same share of time.
///
/// Times are parameters, so this is a pure value.
struct AppTurns: Sendable {
    /// The service times of apps, if above ``floor``.
    private var served: [AppID: Duration] = [:]
    /// The service time of the last served app. An app with new work starts at this time, so it has no claim to earlier
    /// time.
    private var floor = Duration.zero

    /// Returns the next app, or nil if `apps` is empty.
    /// - Parameter apps: the apps with work.
    mutating func next(among apps: some Collection<AppID>) -> AppID? {
        guard let (app, time) = apps.map({ ($0, served[$0] ?? floor) }).min(by: { $0.1 < $1.1 }) else {
            self = AppTurns()
            return nil
        }
        floor = time
        served = served.filter { $0.value > time }
        return app
    }

    /// Adds the duration of a turn to the app's service time.
    mutating func charge(_ duration: Duration, to app: AppID) { served[app] = (served[app] ?? floor) + duration }
}
