// SPDX-License-Identifier: Apache-2.0
import Conversations
import ServiceKit

@main
struct Main {
    static func main() async {
        await ServiceBootstrap.run(name: "conversations") { environment in
            let settings = try ConversationsSettings(environment.settings, environment.common)
            let service = try ConversationsService(settings, eventLoopGroup: environment.eventLoopGroup, logger: environment.logger)
            service.addChecks(to: environment.health)
            return service.services
        }
    }
}
