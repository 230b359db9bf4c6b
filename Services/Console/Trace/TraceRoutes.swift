// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel

struct TraceRoutes: ConsoleFeature {
    let relay: TraceRelay
    let streams: EventStreams

    func add(to routes: ConsoleRoutes) {
        // Packets contain messages as they are written, so a trace is recorded like a change.
        routes.change(.get, "/api/apps/:app/users/:user/trace") { request, context in
            let subject = TraceRelay.Subject(
                app: try context.app, user: try context.user,
                seconds: try request.number("seconds", in: 1...600, default: 60))
            return AuditedChange(
                action: "trace", app: subject.app, target: subject.user.rawValue,
                detail: ["seconds": "\(subject.seconds)"]
            ) { [relay, streams] in
                try streams.response(for: context.session) { queue in await relay.run(subject, to: queue) }
            }
        }
    }
}
