// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `strata app`.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Creates, lists, suspends and deletes apps, keeps the tokens of their servers and indexes their metadata.",
        subcommands: [
            AppCreateCommand.self, AppListCommand.self, AppSuspendCommand.self, AppResumeCommand.self,
            AppDeleteCommand.self, AppTokenCommand.self, AppIndexCommand.self,
        ])
}
