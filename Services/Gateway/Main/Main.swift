// SPDX-License-Identifier: Apache-2.0
import Gateway
import ServiceKit

/// The `gateway` executable: wiring only.
@main
enum GatewayMain {
    static func main() async {
        await ServiceBootstrap.run(name: "gateway") { environment in
            let settings = try GatewaySettings(environment.settings, environment.common)
            let service = try GatewayService(settings: settings, eventLoopGroup: environment.eventLoopGroup, logger: environment.logger)
            service.addChecks(to: environment.health)
            return service.services
        }
    }
}
