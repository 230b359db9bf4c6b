// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract:
            "Creates, lists, suspends and deletes apps, keeps the tokens of their servers, their indexes and webhooks.",
        subcommands: [
            AppCreateCommand.self, AppListCommand.self, AppSuspendCommand.self, AppResumeCommand.self,
            AppDeleteCommand.self, AppTokenCommand.self, AppIndexCommand.self, AppWebhookCommand.self,
        ])
}
