// SPDX-License-Identifier: Apache-2.0

import Metadata
import ServiceKit

/// The `metadata` executable: wiring only.
@main
enum MetadataMain {
    static func main() async {
        await ServiceBootstrap.run(name: "metadata") { environment in
            let settings = try MetadataSettings(environment.settings, environment.common)
            let service = try MetadataService(settings: settings, eventLoopGroup: environment.eventLoopGroup, logger: environment.logger)
            service.addChecks(to: environment.health)
            return [service]
        }
    }
}
