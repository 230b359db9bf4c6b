// SPDX-License-Identifier: Apache-2.0
#include "CSchema.h"

// Swift has no directive that takes in a file, and a literal of as many bytes takes its compiler a minute.

// Tables: the steps.
static const unsigned char step_1_tables[] = {
#embed "../Schema/Tables/0001_tables.sql"
};
static const unsigned char step_2_accounts[] = {
#embed "../Schema/Tables/0002_accounts.sql"
};
static const unsigned char step_3_metadata[] = {
#embed "../Schema/Tables/0003_metadata.sql"
};
static const unsigned char step_4_writing[] = {
#embed "../Schema/Tables/0004_writing.sql"
};
static const unsigned char step_5_conversations[] = {
#embed "../Schema/Tables/0005_conversations.sql"
};
static const unsigned char step_6_participants[] = {
#embed "../Schema/Tables/0006_participants.sql"
};
static const unsigned char step_7_messages[] = {
#embed "../Schema/Tables/0007_messages.sql"
};
static const unsigned char step_8_deletions[] = {
#embed "../Schema/Tables/0008_deletions.sql"
};
static const unsigned char step_9_receipts[] = {
#embed "../Schema/Tables/0009_receipts.sql"
};
static const unsigned char step_10_reading[] = {
#embed "../Schema/Tables/0010_reading.sql"
};
static const unsigned char step_11_sync[] = {
#embed "../Schema/Tables/0011_sync.sql"
};
static const unsigned char step_12_logs[] = {
#embed "../Schema/Tables/0012_logs.sql"
};
static const unsigned char step_13_repair[] = {
#embed "../Schema/Tables/0013_repair.sql"
};
static const unsigned char step_14_following[] = {
#embed "../Schema/Tables/0014_following.sql"
};
static const unsigned char step_15_announcements[] = {
#embed "../Schema/Tables/0015_announcements.sql"
};
static const unsigned char step_16_content[] = {
#embed "../Schema/Tables/0016_content.sql"
};
static const unsigned char step_17_parts[] = {
#embed "../Schema/Tables/0017_parts.sql"
};
static const unsigned char step_18_epoch[] = {
#embed "../Schema/Tables/0018_epoch.sql"
};
static const unsigned char step_19_upkeep[] = {
#embed "../Schema/Tables/0019_upkeep.sql"
};
static const unsigned char step_20_receipt_blocks[] = {
#embed "../Schema/Tables/0020_receipt_blocks.sql"
};
static const unsigned char step_21_added_again[] = {
#embed "../Schema/Tables/0021_added_again.sql"
};
static const unsigned char step_22_one_key[] = {
#embed "../Schema/Tables/0022_one_key.sql"
};
static const unsigned char step_23_lists[] = {
#embed "../Schema/Tables/0023_lists.sql"
};
static const unsigned char step_24_plans[] = {
#embed "../Schema/Tables/0024_plans.sql"
};
static const unsigned char step_25_quotas[] = {
#embed "../Schema/Tables/0025_quotas.sql"
};
static const unsigned char step_26_tree_sizes[] = {
#embed "../Schema/Tables/0026_tree_sizes.sql"
};
static const unsigned char step_27_kept_leaves[] = {
#embed "../Schema/Tables/0027_kept_leaves.sql"
};
static const unsigned char step_28_patch_limits[] = {
#embed "../Schema/Tables/0028_patch_limits.sql"
};
static const unsigned char step_29_batches[] = {
#embed "../Schema/Tables/0029_batches.sql"
};
static const unsigned char step_30_log_pages[] = {
#embed "../Schema/Tables/0030_log_pages.sql"
};
static const unsigned char step_32_epoch_order[] = {
#embed "../Schema/Tables/0032_epoch_order.sql"
};
static const unsigned char step_34_app_deletion[] = {
#embed "../Schema/Tables/0034_app_deletion.sql"
};
static const unsigned char step_36_mutations[] = {
#embed "../Schema/Tables/0036_mutations.sql"
};
static const unsigned char step_40_page_ends[] = {
#embed "../Schema/Tables/0040_page_ends.sql"
};
static const unsigned char step_41_first_load[] = {
#embed "../Schema/Tables/0041_first_load.sql"
};
static const unsigned char step_44_bulk_receipts[] = {
#embed "../Schema/Tables/0044_bulk_receipts.sql"
};
static const unsigned char step_45_former_participants[] = {
#embed "../Schema/Tables/0045_former_participants.sql"
};
static const unsigned char step_46_deletion_up_to[] = {
#embed "../Schema/Tables/0046_deletion_up_to.sql"
};
static const unsigned char step_48_clock_set_back[] = {
#embed "../Schema/Tables/0048_clock_set_back.sql"
};
static const unsigned char step_49_server_tokens[] = {
#embed "../Schema/Tables/0049_server_tokens.sql"
};
static const unsigned char step_50_app_server[] = {
#embed "../Schema/Tables/0050_app_server.sql"
};
static const unsigned char step_51_delayed_messages[] = {
#embed "../Schema/Tables/0051_delayed_messages.sql"
};
static const unsigned char step_65_metadata_indexes[] = {
#embed "../Schema/Tables/0065_metadata_indexes.sql"
};
static const unsigned char step_60_webhooks[] = {
#embed "../Schema/Tables/0060_webhooks.sql"
};
static const unsigned char step_54_users[] = {
#embed "../Schema/Tables/0054_users.sql"
};
static const unsigned char step_55_erasures[] = {
#embed "../Schema/Tables/0055_erasures.sql"
};
static const unsigned char step_58_blocks[] = {
#embed "../Schema/Tables/0058_blocks.sql"
};
static const unsigned char step_66_outside_sendings[] = {
#embed "../Schema/Tables/0066_outside_sendings.sql"
};
static const unsigned char step_67_erasures[] = {
#embed "../Schema/Tables/0067_erasures.sql"
};

// Functions.

static const unsigned char functions_identities[] = {
#embed "../Schema/Functions/identities.sql"
};
static const unsigned char functions_sessions[] = {
#embed "../Schema/Functions/sessions.sql"
};
static const unsigned char functions_writing[] = {
#embed "../Schema/Functions/writing.sql"
};
static const unsigned char functions_mutations[] = {
#embed "../Schema/Functions/mutations.sql"
};
static const unsigned char functions_receipt_sets[] = {
#embed "../Schema/Functions/receipt_sets.sql"
};
static const unsigned char functions_messages[] = {
#embed "../Schema/Functions/messages.sql"
};
static const unsigned char functions_message_deletion[] = {
#embed "../Schema/Functions/message_deletion.sql"
};
static const unsigned char functions_receipts[] = {
#embed "../Schema/Functions/receipts.sql"
};
static const unsigned char functions_conversations[] = {
#embed "../Schema/Functions/conversations.sql"
};
static const unsigned char functions_participants[] = {
#embed "../Schema/Functions/participants.sql"
};
static const unsigned char functions_lists[] = {
#embed "../Schema/Functions/lists.sql"
};
static const unsigned char functions_logs[] = {
#embed "../Schema/Functions/logs.sql"
};
static const unsigned char functions_repair[] = {
#embed "../Schema/Functions/repair.sql"
};
static const unsigned char functions_sync[] = {
#embed "../Schema/Functions/sync.sql"
};
static const unsigned char functions_epoch[] = {
#embed "../Schema/Functions/epoch.sql"
};
static const unsigned char functions_blocks[] = {
#embed "../Schema/Functions/blocks.sql"
};
static const unsigned char functions_following[] = {
#embed "../Schema/Functions/following.sql"
};
static const unsigned char functions_announcements[] = {
#embed "../Schema/Functions/announcements.sql"
};
static const unsigned char functions_devices[] = {
#embed "../Schema/Functions/devices.sql"
};
static const unsigned char functions_content[] = {
#embed "../Schema/Functions/content.sql"
};
static const unsigned char functions_app_server[] = {
#embed "../Schema/Functions/app_server.sql"
};
static const unsigned char functions_delayed_messages[] = {
#embed "../Schema/Functions/delayed_messages.sql"
};
static const unsigned char functions_users[] = {
#embed "../Schema/Functions/users.sql"
};
static const unsigned char functions_pushes[] = {
#embed "../Schema/Functions/pushes.sql"
};
static const unsigned char functions_erasing[] = {
#embed "../Schema/Functions/erasing.sql"
};
static const unsigned char functions_upkeep[] = {
#embed "../Schema/Functions/upkeep.sql"
};
static const unsigned char functions_app_deletion[] = {
#embed "../Schema/Functions/app_deletion.sql"
};
static const unsigned char functions_metadata[] = {
#embed "../Schema/Functions/metadata.sql"
};
static const unsigned char functions_metadata_trees[] = {
#embed "../Schema/Functions/metadata_trees.sql"
};
static const unsigned char functions_metadata_indexes[] = {
#embed "../Schema/Functions/metadata_indexes.sql"
};
static const unsigned char functions_webhooks[] = {
#embed "../Schema/Functions/webhooks.sql"
};
static const unsigned char functions_webhook_delivery[] = {
#embed "../Schema/Functions/webhook_delivery.sql"
};

#define STEP(version, name) {version, #name, step_##version##_##name, sizeof(step_##version##_##name)}
#define FUNCTIONS(name) {0, #name, functions_##name, sizeof(functions_##name)}
#define LIST(scripts) ((struct StrataScripts){scripts, sizeof(scripts) / sizeof(*scripts)})

/// In the order of their versions.
static const struct StrataScript steps[] = {
    STEP(1, tables),
    STEP(2, accounts),
    STEP(3, metadata),
    STEP(4, writing),
    STEP(5, conversations),
    STEP(6, participants),
    STEP(7, messages),
    STEP(8, deletions),
    STEP(9, receipts),
    STEP(10, reading),
    STEP(11, sync),
    STEP(12, logs),
    STEP(13, repair),
    STEP(14, following),
    STEP(15, announcements),
    STEP(16, content),
    STEP(17, parts),
    STEP(18, epoch),
    STEP(19, upkeep),
    STEP(20, receipt_blocks),
    STEP(21, added_again),
    STEP(22, one_key),
    STEP(23, lists),
    STEP(24, plans),
    STEP(25, quotas),
    STEP(26, tree_sizes),
    STEP(27, kept_leaves),
    STEP(28, patch_limits),
    STEP(29, batches),
    STEP(30, log_pages),
    STEP(32, epoch_order),
    STEP(34, app_deletion),
    STEP(36, mutations),
    STEP(40, page_ends),
    STEP(41, first_load),
    STEP(44, bulk_receipts),
    STEP(45, former_participants),
    STEP(46, deletion_up_to),
    STEP(48, clock_set_back),
    STEP(49, server_tokens),
    STEP(50, app_server),
    STEP(51, delayed_messages),
    STEP(54, users),
    STEP(55, erasures),
    STEP(58, blocks),
    STEP(60, webhooks),
    STEP(65, metadata_indexes),
    STEP(66, outside_sendings),
    STEP(67, erasures),
};

/// In the order in which a new database can make them.
static const struct StrataScript functions[] = {
    FUNCTIONS(identities),
    FUNCTIONS(sessions),
    FUNCTIONS(writing),
    FUNCTIONS(mutations),
    FUNCTIONS(receipt_sets),
    FUNCTIONS(messages),
    FUNCTIONS(message_deletion),
    FUNCTIONS(receipts),
    FUNCTIONS(conversations),
    FUNCTIONS(participants),
    FUNCTIONS(lists),
    FUNCTIONS(logs),
    FUNCTIONS(repair),
    FUNCTIONS(sync),
    FUNCTIONS(epoch),
    FUNCTIONS(following),
    FUNCTIONS(blocks),
    FUNCTIONS(announcements),
    FUNCTIONS(devices),
    FUNCTIONS(content),
    FUNCTIONS(app_server),
    FUNCTIONS(delayed_messages),
    FUNCTIONS(users),
    FUNCTIONS(pushes),
    FUNCTIONS(erasing),
    FUNCTIONS(upkeep),
    FUNCTIONS(app_deletion),
    FUNCTIONS(metadata),
    FUNCTIONS(metadata_trees),
    FUNCTIONS(metadata_indexes),
    FUNCTIONS(webhooks),
    FUNCTIONS(webhook_delivery),
};

struct StrataScripts strata_schema_steps(void) { return LIST(steps); }
struct StrataScripts strata_schema_functions(void) { return LIST(functions); }
