// SPDX-License-Identifier: Apache-2.0

import Presence
import ServiceKit

/// The `presence` executable: wiring only.
@main
enum PresenceMain {
    static func main() async {
        await ServiceBootstrap.run(name: "presence") { environment in
            let settings = try PresenceSettings(environment.settings, environment.common)
            let service = try PresenceService(settings: settings, eventLoopGroup: environment.eventLoopGroup, logger: environment.logger)
            service.addChecks(to: environment.health)
            return [service]
        }
    }
}
