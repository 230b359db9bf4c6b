// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The order in which a background task serves apps: the app that was served for the shortest time is next. So an app whose work is slow, or never ends, leaves
/// each other app as much time as it takes.
///
/// Time is given, so that this is a plain value.
struct AppTurns: Sendable {
    /// The times for which apps were served, of those above ``floor``.
    private var served: [AppID: Duration] = [:]
    /// The time of the app whose turn was the last. An app that comes with new work starts there: it has no claim to the time before.
    private var floor = Duration.zero

    /// Returns the app whose turn it is.
    /// - Parameter apps: the apps with work.
    /// - Returns: nil if `apps` is empty.
    mutating func next(among apps: some Collection<AppID>) -> AppID? {
        guard let (app, time) = apps.map({ ($0, served[$0] ?? floor) }).min(by: { $0.1 < $1.1 }) else {
            self = AppTurns()
            return nil
        }
        floor = time
        served = served.filter { $0.value > time }
        return app
    }

    /// Charges an app for its turn.
    mutating func charge(_ duration: Duration, to app: AppID) { served[app] = (served[app] ?? floor) + duration }
}
