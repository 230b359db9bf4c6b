// SPDX-License-Identifier: Apache-2.0
// Written by scripts/console_web.py from the files of Web. Do not edit.
#include "CConsoleWeb.h"

#define TEXT (const unsigned char[])

static const struct ConsoleFile files[] = {
    {"api.js", TEXT{
#embed "../Web/api.js" suffix(, 0)
    }},
    {"app-page.js", TEXT{
#embed "../Web/app-page.js" suffix(, 0)
    }},
    {"calls.json", TEXT{
#embed "../Web/calls.json" suffix(, 0)
    }},
    {"chart.js", TEXT{
#embed "../Web/chart.js" suffix(, 0)
    }},
    {"chooser.js", TEXT{
#embed "../Web/chooser.js" suffix(, 0)
    }},
    {"console.css", TEXT{
#embed "../Web/console.css" suffix(, 0)
    }},
    {"download.js", TEXT{
#embed "../Web/download.js" suffix(, 0)
    }},
    {"events.js", TEXT{
#embed "../Web/events.js" suffix(, 0)
    }},
    {"format.js", TEXT{
#embed "../Web/format.js" suffix(, 0)
    }},
    {"forms.js", TEXT{
#embed "../Web/forms.js" suffix(, 0)
    }},
    {"hooks.js", TEXT{
#embed "../Web/hooks.js" suffix(, 0)
    }},
    {"icons.js", TEXT{
#embed "../Web/icons.js" suffix(, 0)
    }},
    {"idle.js", TEXT{
#embed "../Web/idle.js" suffix(, 0)
    }},
    {"index.html", TEXT{
#embed "../Web/index.html" suffix(, 0)
    }},
    {"json.js", TEXT{
#embed "../Web/json.js" suffix(, 0)
    }},
    {"lists.js", TEXT{
#embed "../Web/lists.js" suffix(, 0)
    }},
    {"main.js", TEXT{
#embed "../Web/main.js" suffix(, 0)
    }},
    {"model/calls.js", TEXT{
#embed "../Web/model/calls.js" suffix(, 0)
    }},
    {"model/curl.js", TEXT{
#embed "../Web/model/curl.js" suffix(, 0)
    }},
    {"model/deliveries.js", TEXT{
#embed "../Web/model/deliveries.js" suffix(, 0)
    }},
    {"model/export.js", TEXT{
#embed "../Web/model/export.js" suffix(, 0)
    }},
    {"model/leaf-reader.js", TEXT{
#embed "../Web/model/leaf-reader.js" suffix(, 0)
    }},
    {"model/leaves.js", TEXT{
#embed "../Web/model/leaves.js" suffix(, 0)
    }},
    {"model/live.js", TEXT{
#embed "../Web/model/live.js" suffix(, 0)
    }},
    {"model/message-reader.js", TEXT{
#embed "../Web/model/message-reader.js" suffix(, 0)
    }},
    {"model/messages.js", TEXT{
#embed "../Web/model/messages.js" suffix(, 0)
    }},
    {"model/packets.js", TEXT{
#embed "../Web/model/packets.js" suffix(, 0)
    }},
    {"names.js", TEXT{
#embed "../Web/names.js" suffix(, 0)
    }},
    {"parts.js", TEXT{
#embed "../Web/parts.js" suffix(, 0)
    }},
    {"router.js", TEXT{
#embed "../Web/router.js" suffix(, 0)
    }},
    {"scale.js", TEXT{
#embed "../Web/scale.js" suffix(, 0)
    }},
    {"screens.css", TEXT{
#embed "../Web/screens.css" suffix(, 0)
    }},
    {"screens/app-indexes.js", TEXT{
#embed "../Web/screens/app-indexes.js" suffix(, 0)
    }},
    {"screens/app-keys.js", TEXT{
#embed "../Web/screens/app-keys.js" suffix(, 0)
    }},
    {"screens/app-settings.js", TEXT{
#embed "../Web/screens/app-settings.js" suffix(, 0)
    }},
    {"screens/app-tokens.js", TEXT{
#embed "../Web/screens/app-tokens.js" suffix(, 0)
    }},
    {"screens/app.js", TEXT{
#embed "../Web/screens/app.js" suffix(, 0)
    }},
    {"screens/apps.js", TEXT{
#embed "../Web/screens/apps.js" suffix(, 0)
    }},
    {"screens/audit.js", TEXT{
#embed "../Web/screens/audit.js" suffix(, 0)
    }},
    {"screens/conversation-activity.js", TEXT{
#embed "../Web/screens/conversation-activity.js" suffix(, 0)
    }},
    {"screens/conversation-leaves.js", TEXT{
#embed "../Web/screens/conversation-leaves.js" suffix(, 0)
    }},
    {"screens/conversation-live.js", TEXT{
#embed "../Web/screens/conversation-live.js" suffix(, 0)
    }},
    {"screens/conversation-messages.js", TEXT{
#embed "../Web/screens/conversation-messages.js" suffix(, 0)
    }},
    {"screens/conversation-metadata.js", TEXT{
#embed "../Web/screens/conversation-metadata.js" suffix(, 0)
    }},
    {"screens/conversation-people.js", TEXT{
#embed "../Web/screens/conversation-people.js" suffix(, 0)
    }},
    {"screens/conversation.js", TEXT{
#embed "../Web/screens/conversation.js" suffix(, 0)
    }},
    {"screens/conversations.js", TEXT{
#embed "../Web/screens/conversations.js" suffix(, 0)
    }},
    {"screens/login.js", TEXT{
#embed "../Web/screens/login.js" suffix(, 0)
    }},
    {"screens/message-window.js", TEXT{
#embed "../Web/screens/message-window.js" suffix(, 0)
    }},
    {"screens/message.js", TEXT{
#embed "../Web/screens/message.js" suffix(, 0)
    }},
    {"screens/overview.js", TEXT{
#embed "../Web/screens/overview.js" suffix(, 0)
    }},
    {"screens/scroll-place.js", TEXT{
#embed "../Web/screens/scroll-place.js" suffix(, 0)
    }},
    {"screens/space.js", TEXT{
#embed "../Web/screens/space.js" suffix(, 0)
    }},
    {"screens/trace-stream.js", TEXT{
#embed "../Web/screens/trace-stream.js" suffix(, 0)
    }},
    {"screens/trace.js", TEXT{
#embed "../Web/screens/trace.js" suffix(, 0)
    }},
    {"screens/try-answer.js", TEXT{
#embed "../Web/screens/try-answer.js" suffix(, 0)
    }},
    {"screens/try-form.js", TEXT{
#embed "../Web/screens/try-form.js" suffix(, 0)
    }},
    {"screens/try-send.js", TEXT{
#embed "../Web/screens/try-send.js" suffix(, 0)
    }},
    {"screens/try-socket.js", TEXT{
#embed "../Web/screens/try-socket.js" suffix(, 0)
    }},
    {"screens/try.js", TEXT{
#embed "../Web/screens/try.js" suffix(, 0)
    }},
    {"screens/user-export.js", TEXT{
#embed "../Web/screens/user-export.js" suffix(, 0)
    }},
    {"screens/user-parts.js", TEXT{
#embed "../Web/screens/user-parts.js" suffix(, 0)
    }},
    {"screens/user.js", TEXT{
#embed "../Web/screens/user.js" suffix(, 0)
    }},
    {"screens/users.js", TEXT{
#embed "../Web/screens/users.js" suffix(, 0)
    }},
    {"screens/virtual-list.js", TEXT{
#embed "../Web/screens/virtual-list.js" suffix(, 0)
    }},
    {"screens/webhook-detail.js", TEXT{
#embed "../Web/screens/webhook-detail.js" suffix(, 0)
    }},
    {"screens/webhook-form.js", TEXT{
#embed "../Web/screens/webhook-form.js" suffix(, 0)
    }},
    {"screens/webhooks.js", TEXT{
#embed "../Web/screens/webhooks.js" suffix(, 0)
    }},
    {"secrets.js", TEXT{
#embed "../Web/secrets.js" suffix(, 0)
    }},
    {"sidebar.js", TEXT{
#embed "../Web/sidebar.js" suffix(, 0)
    }},
    {"toasts.js", TEXT{
#embed "../Web/toasts.js" suffix(, 0)
    }},
    {"vendor/LICENSE", TEXT{
#embed "../Web/vendor/LICENSE" suffix(, 0)
    }},
    {"vendor/preact-htm.js", TEXT{
#embed "../Web/vendor/preact-htm.js" suffix(, 0)
    }},
};

struct ConsoleFiles console_files(void) { return (struct ConsoleFiles){files, sizeof(files) / sizeof(files[0])}; }
