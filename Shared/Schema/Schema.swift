// SPDX-License-Identifier: Apache-2.0
import CSchema
public import Postgres

/// The database's schema: the steps and the functions that `strata migrate` applies, and from which tests start.
///
/// `Tables/` holds the baseline, with one file for each feature, and `Steps/` the steps that follow it, such as `0002_archive.sql`. Files of both never
/// change once they are released. `Functions/` holds the present text of every function. CSchema lists the files and embeds them when it is compiled.
public enum Schema {
    /// All steps, in order. They need a role that may create schemas and roles.
    ///
    /// The first one, "baseline", makes all tables in one transaction. It also creates the roles `strata_conversations`, `strata_metadata` and
    /// `strata_webhooks` where the cluster has none, without passwords: see ``roleScript(conversationsPassword:metadataPassword:webhooksPassword:)``.
    public static let migrations: [Migration] = scripts(strata_schema_steps())
        .map { Migration(version: Int($0.version), name: String(cString: $0.name), sql: String(cString: $0.text)) }

    /// All functions, in the order in which a new database can make them.
    public static let functions = FunctionSet(
        // Raise it once in each release that changes a file: PreviousReleaseTests says when.
        revision: 1,
        files: scripts(strata_schema_functions()).map { FunctionSet.File(name: String(cString: $0.name), sql: String(cString: $0.text)) })

    /// A script that lets the services' roles sign in with these passwords. To be run after the migrations, by a role that may alter roles; may be
    /// run again to change passwords. It contains them in the clear: never log it.
    /// - Parameter webhooksPassword: nil leaves that role as it is.
    public static func roleScript(conversationsPassword: String, metadataPassword: String, webhooksPassword: String? = nil) -> String {
        """
        SET LOCAL standard_conforming_strings = on;
        ALTER ROLE strata_conversations LOGIN PASSWORD \(literal(conversationsPassword));
        ALTER ROLE strata_metadata LOGIN PASSWORD \(literal(metadataPassword));
        \(webhooksPassword.map { "ALTER ROLE strata_webhooks LOGIN PASSWORD \(literal($0));" } ?? "")
        """
    }

    private static func scripts(_ scripts: StrataScripts) -> UnsafeBufferPointer<StrataScript> {
        UnsafeBufferPointer(start: scripts.first, count: scripts.count)
    }

    /// `text` as an SQL string, whatever it contains.
    private static func literal(_ text: String) -> String {
        var quoted = "'"
        for character in text.unicodeScalars {
            if character == "'" { quoted.unicodeScalars.append(character) }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "'"
    }
}
