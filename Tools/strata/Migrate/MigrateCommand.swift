// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings a database's schema up to date.",
        discussion: """
            Applies what is missing, each step in a transaction, and replaces the functions if they have changed, under a lock, so that it may be run from \
            several places at once. Functions of a newer release stay as they are. Where \
            STRATA_CONVERSATIONS_PASSWORD, STRATA_METADATA_PASSWORD and STRATA_WEBHOOKS_PASSWORD are set, or files with them are named by …_FILE, the services' roles get these passwords.
            """)

    @OptionGroup var database: DatabaseOption

    func run() async throws {
        let passwords = try DatabaseMigration.Passwords(OperatorSettings())
        let url = try await database.url(in: StrataHome())
        let report = try await DatabaseMigration.run(url: url, passwords: passwords)
        Console.standard.say(
            report.isEmpty ? "Nothing to do: the database is up to date." : "Applied \(report.summary).")
    }
}
