// SPDX-License-Identifier: Apache-2.0
import CSchema
public import Postgres

/// The database's schema: the steps and the functions that `strata migrate` and the tests apply.
///
/// `Tables/` holds the baseline, with one file for each feature. `Steps/` holds the steps that follow it, such as
/// `0002_archive.sql`. Files of both never change after their release. `Functions/` holds the present text of every
/// function. CSchema lists the files and embeds them at compile time.
public enum Schema {
    /// All steps, in order. They require a role that may create schemas and roles.
    ///
    /// The first step, "baseline", creates all tables in one transaction. It also creates the roles
    /// `strata_conversations`, `strata_metadata`, `strata_webhooks` and `strata_console` if the cluster does not have
    /// them, without passwords: see ``roleScript(passwords:)``.
    public static let migrations: [Migration] = scripts(strata_schema_steps())
        .map { Migration(version: Int($0.version), name: String(cString: $0.name), sql: String(cString: $0.text)) }

    /// All functions, in the order in which a new database can create them.
    public static let functions = FunctionSet(
        // Raise the revision once in each release that changes a file. PreviousReleaseTests fails if it is missing.
        revision: 1,
        files: scripts(strata_schema_functions())
            .map { FunctionSet.File(name: String(cString: $0.name), sql: String(cString: $0.text)) })

    /// The services that have a role in the database, `strata_<service>`.
    public enum ServiceRole: String, CaseIterable, Sendable {
        case conversations, metadata, webhooks, console

        /// The name of the role.
        public var name: String { "strata_\(rawValue)" }
    }

    /// Returns a script that lets the services' roles sign in with these passwords. Roles without a password stay as
    /// they are.
    ///
    /// Run it after the migrations, as a role that may alter roles. Run it again to change the passwords. The script
    /// contains them in plain text: never log it.
    public static func roleScript(passwords: [ServiceRole: String]) -> String {
        let statements = ServiceRole.allCases.compactMap { role in
            passwords[role].map { "ALTER ROLE \(role.name) LOGIN PASSWORD \(literal($0));\n" }
        }
        return "SET LOCAL standard_conforming_strings = on;\n" + statements.joined()
    }

    private static func scripts(_ scripts: StrataScripts) -> UnsafeBufferPointer<StrataScript> {
        UnsafeBufferPointer(start: scripts.first, count: scripts.count)
    }

    /// Returns `text` as an SQL string literal. It escapes quotes.
    private static func literal(_ text: String) -> String {
        var quoted = "'"
        for character in text.unicodeScalars {
            if character == "'" { quoted.unicodeScalars.append(character) }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "'"
    }
}
