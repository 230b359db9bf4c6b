// SPDX-License-Identifier: Apache-2.0
#include "CSchema.h"

// Swift has no directive that embeds a file, and a literal of as many bytes takes its compiler a minute.

/// The tables, in the order in which a new database can make them.
static const unsigned char baseline[] = {
#embed "../Schema/Tables/schemas.sql" suffix(, )
#embed "../Schema/Tables/apps.sql" suffix(, )
#embed "../Schema/Tables/databases.sql" suffix(, )
#embed "../Schema/Tables/sessions.sql" suffix(, )
#embed "../Schema/Tables/identities.sql" suffix(, )
#embed "../Schema/Tables/following.sql" suffix(, )
#embed "../Schema/Tables/blocks.sql" suffix(, )
#embed "../Schema/Tables/devices.sql" suffix(, )
#embed "../Schema/Tables/erasing.sql" suffix(, )
#embed "../Schema/Tables/conversations.sql" suffix(, )
#embed "../Schema/Tables/participants.sql" suffix(, )
#embed "../Schema/Tables/messages.sql" suffix(, )
#embed "../Schema/Tables/receipts.sql" suffix(, )
#embed "../Schema/Tables/content.sql" suffix(, )
#embed "../Schema/Tables/delayed_messages.sql" suffix(, )
#embed "../Schema/Tables/announcements.sql" suffix(, )
#embed "../Schema/Tables/log.sql" suffix(, )
#embed "../Schema/Tables/epoch.sql" suffix(, )
#embed "../Schema/Tables/mutations.sql" suffix(, )
#embed "../Schema/Tables/metadata.sql" suffix(, )
#embed "../Schema/Tables/metadata_indexes.sql" suffix(, )
#embed "../Schema/Tables/webhooks.sql" suffix(, )
#embed "../Schema/Tables/console.sql" suffix(, )
    0,
};

/// The steps, in the order of their versions. Later ones are in Steps/.
static const struct StrataScript steps[] = {
    {1, "baseline", baseline},
};

/// The functions, in the order in which a new database can make them.
static const struct StrataScript functions[] = {
    {0, "constants", (const unsigned char[]){
#embed "../Schema/Functions/constants.sql" suffix(, 0)
    }},
    {0, "databases", (const unsigned char[]){
#embed "../Schema/Functions/databases.sql" suffix(, 0)
    }},
    {0, "identities", (const unsigned char[]){
#embed "../Schema/Functions/identities.sql" suffix(, 0)
    }},
    {0, "sessions", (const unsigned char[]){
#embed "../Schema/Functions/sessions.sql" suffix(, 0)
    }},
    {0, "writing", (const unsigned char[]){
#embed "../Schema/Functions/writing.sql" suffix(, 0)
    }},
    {0, "mutations", (const unsigned char[]){
#embed "../Schema/Functions/mutations.sql" suffix(, 0)
    }},
    {0, "receipt_sets", (const unsigned char[]){
#embed "../Schema/Functions/receipt_sets.sql" suffix(, 0)
    }},
    {0, "messages", (const unsigned char[]){
#embed "../Schema/Functions/messages.sql" suffix(, 0)
    }},
    {0, "sending", (const unsigned char[]){
#embed "../Schema/Functions/sending.sql" suffix(, 0)
    }},
    {0, "message_deletion", (const unsigned char[]){
#embed "../Schema/Functions/message_deletion.sql" suffix(, 0)
    }},
    {0, "receipts", (const unsigned char[]){
#embed "../Schema/Functions/receipts.sql" suffix(, 0)
    }},
    {0, "conversations", (const unsigned char[]){
#embed "../Schema/Functions/conversations.sql" suffix(, 0)
    }},
    {0, "participants", (const unsigned char[]){
#embed "../Schema/Functions/participants.sql" suffix(, 0)
    }},
    {0, "lists", (const unsigned char[]){
#embed "../Schema/Functions/lists.sql" suffix(, 0)
    }},
    {0, "logs", (const unsigned char[]){
#embed "../Schema/Functions/logs.sql" suffix(, 0)
    }},
    {0, "repair", (const unsigned char[]){
#embed "../Schema/Functions/repair.sql" suffix(, 0)
    }},
    {0, "sync", (const unsigned char[]){
#embed "../Schema/Functions/sync.sql" suffix(, 0)
    }},
    {0, "epoch", (const unsigned char[]){
#embed "../Schema/Functions/epoch.sql" suffix(, 0)
    }},
    {0, "following", (const unsigned char[]){
#embed "../Schema/Functions/following.sql" suffix(, 0)
    }},
    {0, "blocks", (const unsigned char[]){
#embed "../Schema/Functions/blocks.sql" suffix(, 0)
    }},
    {0, "announcements", (const unsigned char[]){
#embed "../Schema/Functions/announcements.sql" suffix(, 0)
    }},
    {0, "devices", (const unsigned char[]){
#embed "../Schema/Functions/devices.sql" suffix(, 0)
    }},
    {0, "content", (const unsigned char[]){
#embed "../Schema/Functions/content.sql" suffix(, 0)
    }},
    {0, "app_server", (const unsigned char[]){
#embed "../Schema/Functions/app_server.sql" suffix(, 0)
    }},
    {0, "delayed_messages", (const unsigned char[]){
#embed "../Schema/Functions/delayed_messages.sql" suffix(, 0)
    }},
    {0, "users", (const unsigned char[]){
#embed "../Schema/Functions/users.sql" suffix(, 0)
    }},
    {0, "pushes", (const unsigned char[]){
#embed "../Schema/Functions/pushes.sql" suffix(, 0)
    }},
    {0, "erasing", (const unsigned char[]){
#embed "../Schema/Functions/erasing.sql" suffix(, 0)
    }},
    {0, "upkeep", (const unsigned char[]){
#embed "../Schema/Functions/upkeep.sql" suffix(, 0)
    }},
    {0, "app_deletion", (const unsigned char[]){
#embed "../Schema/Functions/app_deletion.sql" suffix(, 0)
    }},
    {0, "app_moves", (const unsigned char[]){
#embed "../Schema/Functions/app_moves.sql" suffix(, 0)
    }},
    {0, "metadata", (const unsigned char[]){
#embed "../Schema/Functions/metadata.sql" suffix(, 0)
    }},
    {0, "metadata_trees", (const unsigned char[]){
#embed "../Schema/Functions/metadata_trees.sql" suffix(, 0)
    }},
    {0, "metadata_indexes", (const unsigned char[]){
#embed "../Schema/Functions/metadata_indexes.sql" suffix(, 0)
    }},
    {0, "webhooks", (const unsigned char[]){
#embed "../Schema/Functions/webhooks.sql" suffix(, 0)
    }},
    {0, "webhook_delivery", (const unsigned char[]){
#embed "../Schema/Functions/webhook_delivery.sql" suffix(, 0)
    }},
    {0, "admin", (const unsigned char[]){
#embed "../Schema/Functions/admin.sql" suffix(, 0)
    }},
    {0, "console", (const unsigned char[]){
#embed "../Schema/Functions/console.sql" suffix(, 0)
    }},
};

#define LIST(scripts) ((struct StrataScripts){scripts, sizeof(scripts) / sizeof(*scripts)})

struct StrataScripts strata_schema_steps(void) { return LIST(steps); }
struct StrataScripts strata_schema_functions(void) { return LIST(functions); }
