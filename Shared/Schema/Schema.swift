// SPDX-License-Identifier: Apache-2.0
public import Postgres

/// The database's schema: what `strata migrate` applies, and what tests start from.
///
/// `Tables/` holds the steps, which never change once they are released. `Functions/` holds every function once, as it is now.
public enum Schema {
    /// All steps, in order. They need a role that may create schemas and roles.
    ///
    /// They create the roles `strata_conversations` and `strata_metadata` where the cluster has none, without passwords: see
    /// ``roleScript(conversationsPassword:metadataPassword:)``.
    public static let migrations: [Migration] = [
        migration(1, "tables", PackageResources._001_tables_sql),
        migration(2, "accounts", PackageResources._002_accounts_sql),
        migration(3, "metadata", PackageResources._003_metadata_sql),
        migration(4, "writing", PackageResources._004_writing_sql),
        migration(5, "conversations", PackageResources._005_conversations_sql),
        migration(6, "participants", PackageResources._006_participants_sql),
        migration(7, "messages", PackageResources._007_messages_sql),
        migration(8, "deletions", PackageResources._008_deletions_sql),
        migration(9, "receipts", PackageResources._009_receipts_sql),
        migration(10, "reading", PackageResources._010_reading_sql),
        migration(11, "sync", PackageResources._011_sync_sql),
        migration(12, "logs", PackageResources._012_logs_sql),
        migration(13, "repair", PackageResources._013_repair_sql),
        migration(14, "following", PackageResources._014_following_sql),
        migration(15, "announcements", PackageResources._015_announcements_sql),
        migration(16, "content", PackageResources._016_content_sql),
        migration(17, "parts", PackageResources._017_parts_sql),
        migration(18, "epoch", PackageResources._018_epoch_sql),
        migration(19, "upkeep", PackageResources._019_upkeep_sql),
        migration(20, "receipt_blocks", PackageResources._020_receipt_blocks_sql),
        migration(21, "added_again", PackageResources._021_added_again_sql),
        migration(22, "one_key", PackageResources._022_one_key_sql),
        migration(23, "lists", PackageResources._023_lists_sql),
        migration(24, "plans", PackageResources._024_plans_sql),
        migration(25, "quotas", PackageResources._025_quotas_sql),
        migration(26, "tree_sizes", PackageResources._026_tree_sizes_sql),
        migration(27, "kept_leaves", PackageResources._027_kept_leaves_sql),
        migration(28, "patch_limits", PackageResources._028_patch_limits_sql),
        migration(29, "batches", PackageResources._029_batches_sql),
        migration(30, "log_pages", PackageResources._030_log_pages_sql),
        migration(32, "epoch_order", PackageResources._032_epoch_order_sql),
        migration(34, "app_deletion", PackageResources._034_app_deletion_sql),
        migration(36, "mutations", PackageResources._036_mutations_sql),
        migration(40, "page_ends", PackageResources._040_page_ends_sql),
        migration(41, "first_load", PackageResources._041_first_load_sql),
        migration(44, "bulk_receipts", PackageResources._044_bulk_receipts_sql),
        migration(45, "former_participants", PackageResources._045_former_participants_sql),
        migration(46, "deletion_up_to", PackageResources._046_deletion_up_to_sql),
        migration(48, "clock_set_back", PackageResources._048_clock_set_back_sql),
    ]

    /// All functions, in the order in which a new database can make them. Steps up to 48 made functions, too, which these replace.
    public static let functions = FunctionSet(
        // Raise it once in each release that changes a file: PreviousReleaseTests says when.
        revision: 1,
        files: [
            function("identities", PackageResources.identities_sql),
            function("sessions", PackageResources.sessions_sql),
            function("writing", PackageResources.writing_sql),
            function("mutations", PackageResources.mutations_sql),
            function("receipt_sets", PackageResources.receipt_sets_sql),
            function("messages", PackageResources.messages_sql),
            function("message_deletion", PackageResources.message_deletion_sql),
            function("receipts", PackageResources.receipts_sql),
            function("conversations", PackageResources.conversations_sql),
            function("participants", PackageResources.participants_sql),
            function("lists", PackageResources.lists_sql),
            function("logs", PackageResources.logs_sql),
            function("repair", PackageResources.repair_sql),
            function("sync", PackageResources.sync_sql),
            function("epoch", PackageResources.epoch_sql),
            function("following", PackageResources.following_sql),
            function("announcements", PackageResources.announcements_sql),
            function("devices", PackageResources.devices_sql),
            function("content", PackageResources.content_sql),
            function("upkeep", PackageResources.upkeep_sql),
            function("app_deletion", PackageResources.app_deletion_sql),
            function("metadata", PackageResources.metadata_sql),
            function("metadata_trees", PackageResources.metadata_trees_sql),
        ])

    /// A script that lets the two services' roles sign in with these passwords. To be run after the migrations, by a role that may alter roles; may be
    /// run again to change passwords. It contains them in the clear: never log it.
    public static func roleScript(conversationsPassword: String, metadataPassword: String) -> String {
        """
        SET LOCAL standard_conforming_strings = on;
        ALTER ROLE strata_conversations LOGIN PASSWORD \(literal(conversationsPassword));
        ALTER ROLE strata_metadata LOGIN PASSWORD \(literal(metadataPassword));
        """
    }

    private static func migration(_ version: Int, _ name: String, _ script: [UInt8]) -> Migration {
        Migration(version: version, name: name, sql: String(decoding: script, as: UTF8.self))
    }

    private static func function(_ name: String, _ script: [UInt8]) -> FunctionSet.File {
        FunctionSet.File(name: name, sql: String(decoding: script, as: UTF8.self))
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
