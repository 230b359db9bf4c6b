// SPDX-License-Identifier: Apache-2.0
// Made by scripts/docs.py; change the descriptions it is made from instead.

extension ProtocolDocs {
    static let indexText: StaticString = ##"""
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Strata Client API</title>
<style>
:root{color-scheme:light dark;--bg:#fff;--fg:#1d2330;--soft:#5b6577;--line:#e3e7ee;--panel:#f6f7fa;--accent:#0b62c4;--key:#7a3e9d;--str:#0b6b3a;--lit:#9a4b00;
--get:#0b6b3a;--post:#0b62c4;--put:#8a5a00;--patch:#7a3e9d;--delete:#b3261e;--required:#b3261e}
@media(prefers-color-scheme:dark){:root{--bg:#12151b;--fg:#dfe4ee;--soft:#98a3b7;--line:#2a303c;--panel:#1a1f28;--accent:#79b4ff;--key:#d3a6f5;--str:#86d9a5;--lit:#f0b070;
--get:#86d9a5;--post:#79b4ff;--put:#e8c06a;--patch:#d3a6f5;--delete:#ff8f85;--required:#ff8f85}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:break-word}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.frame{display:grid;grid-template-columns:19rem minmax(0,1fr);max-width:86rem;margin:0 auto}
nav{position:sticky;top:0;align-self:start;height:100vh;overflow-y:auto;padding:1.75rem 1.25rem 2rem 1.5rem;border-right:1px solid var(--line);font-size:.875rem;line-height:1.45}
nav .brand{font-weight:700;font-size:1.05rem;color:var(--fg);display:block;margin-bottom:.75rem}
nav h2{font-size:.75rem;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:1.5rem 0 .35rem;border:0;padding:0}
nav ul{list-style:none;margin:0;padding:0}nav li{margin:0}nav a{display:block;padding:.16rem 0;color:var(--fg)}
nav details{border:0;margin:0;background:none;padding:0}nav summary{padding:.16rem 0;color:var(--fg);font-weight:400}nav details ul{padding:.1rem 0 .35rem .9rem}
nav details a{color:var(--soft);font-size:.8125rem;padding:.1rem 0}
nav .m{display:inline-block;min-width:3.6em;font:600 .6875rem/1 ui-monospace,Menlo,Consolas,monospace;text-transform:uppercase}
main{padding:2.25rem 3rem 6rem;min-width:0;max-width:62rem}
h1,h2,h3,h4,h5{line-height:1.25;margin:2.2em 0 .6em;font-weight:650;letter-spacing:-.008em}
h1{font-size:2.1rem;margin-top:2.6em;padding-top:.5em}main>h1:first-child,header h1{margin-top:0}h2{font-size:1.5rem;padding-top:.4em;border-top:1px solid var(--line)}h3{font-size:1.125rem}h4,h5{font-size:1rem}
.lead{font-size:1.15rem;color:var(--soft);max-width:44rem}
p,ul,ol{margin:.7em 0;max-width:46rem}li{margin:.3em 0}
.anchor{opacity:0;color:var(--soft);font-weight:400;margin-left:.15em}h1:hover .anchor,h2:hover .anchor,h3:hover .anchor,h4:hover .anchor,h5:hover .anchor,.anchor:focus{opacity:1}
code,pre,var{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-size:.875em;background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.08em .3em}
a code{color:inherit}
pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:.9rem 1rem;overflow-x:auto;font-size:.8125rem;line-height:1.55;margin:.8em 0}
pre code{background:none;border:0;padding:0;font-size:inherit}
.key{color:var(--key)}.str{color:var(--str)}.lit{color:var(--lit)}
section.operation,section.packet,section.schema{margin:2rem 0;padding-top:.2rem}
section.operation{border:1px solid var(--line);border-radius:10px;padding:1rem 1.25rem 1.1rem;margin:1.5rem 0}
section.operation h3{margin:0;font-size:1rem}section.packet h3,section.schema h3{margin-bottom:.4em}
.method{font:700 .75rem/1 ui-monospace,Menlo,Consolas,monospace;padding:.3em .55em;border-radius:5px;border:1px solid currentColor;margin-right:.35em;vertical-align:.12em}
.get,.head,.options{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.patch{color:var(--patch)}.delete{color:var(--delete)}
.path{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.95rem}.path var{color:var(--soft);font-style:italic}
.summary{font-weight:600;margin:.65em 0 .4em}
.note{color:var(--soft);font-size:.875rem;margin:.4em 0}
.label{font-weight:600;font-size:.875rem;margin:1.1em 0 .3em}.label span{font-weight:400;color:var(--soft)}
.scroll{overflow-x:auto;margin:.7em 0}
table{border-collapse:collapse;width:100%;font-size:.875rem;line-height:1.5}
th{text-align:left;font-weight:600;color:var(--soft);font-size:.75rem;padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line);white-space:nowrap}
td{vertical-align:top;padding:.42rem .75rem .42rem 0;border-bottom:1px solid var(--line);min-width:5rem}
table.members td:first-child{min-width:9rem}table.members td:last-child{min-width:14rem}table.responses td:nth-child(2){min-width:14rem}
tr:last-child td{border-bottom:0}
.required{color:var(--required);font-size:.6875rem;white-space:nowrap}.limits{color:var(--soft);font-size:.8125rem}
.status{font:600 .8125rem/1 ui-monospace,Menlo,Consolas,monospace}.s2{color:var(--get)}.s3{color:var(--soft)}.s4,.s5{color:var(--delete)}
.option{font-weight:600;font-size:.9rem;margin:1em 0 .2em}
details{margin:.55em 0}summary{cursor:pointer;color:var(--accent);font-size:.875rem;padding:.15rem 0}
details pre{margin-top:.4em}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1rem;margin:1.75rem 0}
.cards a{border:1px solid var(--line);border-radius:10px;padding:1rem 1.15rem;color:var(--fg);display:block}.cards a:hover{border-color:var(--accent);text-decoration:none}
.cards b{display:block;color:var(--accent);margin-bottom:.2rem}.cards span{color:var(--soft);font-size:.9rem}
.menu{display:none}
.error{border-top:1px solid var(--line);padding:.4rem 0 .6rem}.error h2{border:0;margin:.9em 0 .3em;font-size:1.15rem;padding:0}.error h2 code{font-size:1em}
.error .facts{color:var(--soft);font-size:.875rem;margin:.2em 0}.error:target{background:var(--panel);box-shadow:-1rem 0 0 var(--panel),1rem 0 0 var(--panel)}
main.single{margin:0 auto;padding-top:2.5rem;max-width:52rem}
@media(max-width:60rem){.frame{display:block}nav.side{display:none}.menu{display:block;border-bottom:1px solid var(--line);padding:.6rem 1.15rem;margin:0}
.menu>summary{font-weight:600;font-size:1rem}.menu nav{position:static;height:auto;border:0;padding:.25rem 0 1rem}
main{padding:1.5rem 1.15rem 4rem}h1{font-size:1.7rem}h2{font-size:1.3rem}section.operation{padding:.85rem .9rem;border-radius:8px}.lead{font-size:1.05rem}
td{min-width:4.5rem}table.members td:last-child,table.responses td:nth-child(2){min-width:12rem}}
@media print{nav,.menu,.anchor{display:none}.frame{display:block}main{max-width:none;padding:0}details:not([open])>*{display:block}}
</style>
</head>
<body>
<details class="menu"><summary>Strata Client API</summary><nav aria-label="Contents"><a class="brand" href="#top">Strata Client API</a><h2><a href="#rest">REST</a></h2><ul><li><a href="#rest-versions">Versions</a></li><li><a href="#rest-sessions">Sessions</a></li><li><a href="#rest-identifiers">Identifiers</a></li><li><a href="#rest-creating-is-repeatable">Creating is repeatable</a></li><li><a href="#rest-lists">Lists</a></li><li><a href="#rest-method-override">Method override</a></li><li><a href="#rest-browsers">Browsers</a></li><li><a href="#rest-errors">Errors</a></li><li><a href="#answers">Answers to any request</a></li><li><details><summary>Discovery</summary><ul><li><a href="#tag-discovery">About</a></li><li><a href="#discover"><span class="m get">get</span> /<wbr></a></li><li><a href="#discoverHead"><span class="m head">head</span> /<wbr></a></li><li><a href="#preflight"><span class="m options">options</span> /<wbr></a></li><li><a href="#discoverByOldPath"><span class="m get">get</span> /<wbr>websocket</a></li><li><a href="#pingGet"><span class="m get">get</span> /<wbr>ping</a></li><li><a href="#ping"><span class="m head">head</span> /<wbr>ping</a></li></ul></details></li><li><details><summary>Sessions</summary><ul><li><a href="#tag-sessions">About</a></li><li><a href="#createNonce"><span class="m post">post</span> /<wbr>nonces</a></li><li><a href="#createSession"><span class="m post">post</span> /<wbr>sessions</a></li><li><a href="#deleteSession"><span class="m delete">delete</span> /<wbr>sessions/<wbr><var>session_token</var></a></li></ul></details></li><li><details><summary>Push tokens</summary><ul><li><a href="#tag-push-tokens">About</a></li><li><a href="#createPushToken"><span class="m post">post</span> /<wbr>push_tokens</a></li><li><a href="#deletePushToken"><span class="m delete">delete</span> /<wbr>push_tokens/<wbr><var>device_id</var></a></li></ul></details></li><li><details><summary>Identities</summary><ul><li><a href="#tag-identities">About</a></li><li><a href="#listIdentities"><span class="m get">get</span> /<wbr>identities</a></li><li><a href="#getIdentity"><span class="m get">get</span> /<wbr>identities/<wbr><var>user_id</var></a></li></ul></details></li><li><details><summary>Following</summary><ul><li><a href="#tag-following">About</a></li><li><a href="#listFollowing"><span class="m get">get</span> /<wbr>following</a></li><li><a href="#unfollowByShortPath"><span class="m delete">delete</span> /<wbr>following/<wbr><var>user_id</var></a></li><li><a href="#followMany"><span class="m post">post</span> /<wbr>following/<wbr>users</a></li><li><a href="#isFollowing"><span class="m get">get</span> /<wbr>following/<wbr>users/<wbr><var>user_id</var></a></li><li><a href="#follow"><span class="m put">put</span> /<wbr>following/<wbr>users/<wbr><var>user_id</var></a></li><li><a href="#unfollow"><span class="m delete">delete</span> /<wbr>following/<wbr>users/<wbr><var>user_id</var></a></li></ul></details></li><li><details><summary>Conversations</summary><ul><li><a href="#tag-conversations">About</a></li><li><a href="#listConversations"><span class="m get">get</span> /<wbr>conversations</a></li><li><a href="#createConversation"><span class="m post">post</span> /<wbr>conversations</a></li><li><a href="#getConversation"><span class="m get">get</span> /<wbr>conversations/<wbr><var>conversation_id</var></a></li><li><a href="#patchConversationByPost"><span class="m post">post</span> /<wbr>conversations/<wbr><var>conversation_id</var></a></li><li><a href="#patchConversation"><span class="m patch">patch</span> /<wbr>conversations/<wbr><var>conversation_id</var></a></li><li><a href="#deleteConversation"><span class="m delete">delete</span> /<wbr>conversations/<wbr><var>conversation_id</var></a></li></ul></details></li><li><details><summary>Messages</summary><ul><li><a href="#tag-messages">About</a></li><li><a href="#listMessages"><span class="m get">get</span> /<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>messages</a></li><li><a href="#sendMessage"><span class="m post">post</span> /<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>messages</a></li><li><a href="#getMessage"><span class="m get">get</span> /<wbr>messages/<wbr><var>message_id</var></a></li><li><a href="#deleteMessage"><span class="m delete">delete</span> /<wbr>messages/<wbr><var>message_id</var></a></li><li><a href="#listParts"><span class="m get">get</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</a></li><li><a href="#addPart"><span class="m post">post</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</a></li><li><a href="#replaceParts"><span class="m put">put</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</a></li><li><a href="#getPart"><span class="m get">get</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></a></li><li><a href="#replacePart"><span class="m put">put</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></a></li><li><a href="#deletePart"><span class="m delete">delete</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></a></li></ul></details></li><li><details><summary>Receipts</summary><ul><li><a href="#tag-receipts">About</a></li><li><a href="#markAllRead"><span class="m post">post</span> /<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>mark_all_read</a></li><li><a href="#giveReceipt"><span class="m post">post</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>receipts</a></li></ul></details></li><li><details><summary>Rich content</summary><ul><li><a href="#tag-rich-content">About</a></li><li><a href="#createContent"><span class="m post">post</span> /<wbr>content</a></li><li><a href="#getContent"><span class="m get">get</span> /<wbr>content/<wbr><var>content_id</var></a></li><li><a href="#uploadContent"><span class="m put">put</span> /<wbr>content/<wbr>uploads/<wbr><var>token</var></a></li><li><a href="#downloadContent"><span class="m get">get</span> /<wbr>content/<wbr>downloads/<wbr><var>token</var></a></li><li><a href="#downloadContentHead"><span class="m head">head</span> /<wbr>content/<wbr>downloads/<wbr><var>token</var></a></li></ul></details></li><li><details><summary>Announcements</summary><ul><li><a href="#tag-announcements">About</a></li><li><a href="#listAnnouncements"><span class="m get">get</span> /<wbr>announcements</a></li><li><a href="#getAnnouncement"><span class="m get">get</span> /<wbr>announcements/<wbr><var>announcement_id</var></a></li><li><a href="#deleteAnnouncement"><span class="m delete">delete</span> /<wbr>announcements/<wbr><var>announcement_id</var></a></li><li><a href="#giveAnnouncementReceipt"><span class="m post">post</span> /<wbr>announcements/<wbr><var>announcement_id</var>/<wbr>receipts</a></li></ul></details></li><li><details><summary>Channels</summary><ul><li><a href="#tag-channels">About</a></li><li><a href="#listChannels"><span class="m get">get</span> /<wbr>channels</a></li></ul></details></li><li><a href="#schemas">Objects</a></li></ul><h2><a href="#websocket">WebSocket</a></h2><ul><li><a href="#ws-handshake">Handshake</a></li><li><a href="#ws-envelope">Envelope</a></li><li><a href="#ws-versions">Versions</a></li><li><a href="#ws-limits">Limits</a></li><li><details><summary>Requests</summary><ul><li><a href="#ws-requests">About</a></li><li><a href="#op-counterRead">Counter.read</a></li><li><a href="#op-eventReplay">Event.replay</a></li><li><a href="#op-conversationCreate">Conversation.create</a></li><li><a href="#op-messageCreate">Message.create</a></li><li><a href="#op-presenceSubscribe">Presence.subscribe</a></li><li><a href="#op-presenceUnsubscribe">Presence.unsubscribe</a></li><li><a href="#op-presenceUpdate">Presence.update</a></li><li><a href="#op-presenceSync">Presence.sync</a></li><li><a href="#op-typingSent">Typing, from a client</a></li></ul></details></li><li><details><summary>Changes</summary><ul><li><a href="#ws-changes">About</a></li><li><a href="#packet-ConversationCreated">Conversation create</a></li><li><a href="#packet-ConversationUpdated">Conversation update</a></li><li><a href="#packet-ConversationDeleted">Conversation delete</a></li><li><a href="#packet-MessageCreated">Message create</a></li><li><a href="#packet-MessageUpdated">Message update</a></li><li><a href="#packet-MessageDeleted">Message delete</a></li><li><a href="#packet-MessagePartUpdated">MessagePart update</a></li><li><a href="#packet-IdentityCreated">Identity create</a></li><li><a href="#packet-IdentityUpdated">Identity update</a></li><li><a href="#packet-IdentityDeleted">Identity delete</a></li><li><a href="#packet-AnnouncementCreated">Announcement create</a></li><li><a href="#packet-AnnouncementUpdated">Announcement update</a></li><li><a href="#packet-AnnouncementDeleted">Announcement delete</a></li></ul></details></li><li><details><summary>Operations</summary><ul><li><a href="#ws-operations">About</a></li><li><a href="#packet-AllRead">Conversation.mark_all_read</a></li></ul></details></li><li><details><summary>Signals</summary><ul><li><a href="#ws-signals">About</a></li><li><a href="#packet-Typing">typing_indicator</a></li></ul></details></li><li><a href="#ws-fan-out">Who is told what</a></li><li><a href="#ws-ordering">Order</a></li><li><a href="#ws-closing">Close codes</a></li><li><a href="#ws-schemas">Pieces of packets</a></li></ul><h2><a href="#sync">Syncing exactly</a></h2><ul><li><a href="#sync-what-strata-adds">What Strata adds</a></li><li><a href="#sync-what-a-client-keeps">What a client keeps</a></li><li><a href="#sync-first-load">First load</a></li><li><a href="#sync-applying-packets">Applying packets</a></li><li><a href="#sync-while-connected">While connected</a></li><li><a href="#sync-coming-back">Coming back</a></li><li><a href="#sync-typing">Typing</a></li><li><a href="#sync-presence">Presence</a></li><li><a href="#sync-receipts">Receipts</a></li><li><a href="#sync-deleting-from-the-own-devices">Deleting from the own devices</a></li><li><a href="#sync-what-is-promised">What is promised</a></li></ul></nav></details>
<div class="frame"><nav class="side" aria-label="Contents"><a class="brand" href="#top">Strata Client API</a><h2><a href="#rest">REST</a></h2><ul><li><a href="#rest-versions">Versions</a></li><li><a href="#rest-sessions">Sessions</a></li><li><a href="#rest-identifiers">Identifiers</a></li><li><a href="#rest-creating-is-repeatable">Creating is repeatable</a></li><li><a href="#rest-lists">Lists</a></li><li><a href="#rest-method-override">Method override</a></li><li><a href="#rest-browsers">Browsers</a></li><li><a href="#rest-errors">Errors</a></li><li><a href="#answers">Answers to any request</a></li><li><details><summary>Discovery</summary><ul><li><a href="#tag-discovery">About</a></li><li><a href="#discover"><span class="m get">get</span> /<wbr></a></li><li><a href="#discoverHead"><span class="m head">head</span> /<wbr></a></li><li><a href="#preflight"><span class="m options">options</span> /<wbr></a></li><li><a href="#discoverByOldPath"><span class="m get">get</span> /<wbr>websocket</a></li><li><a href="#pingGet"><span class="m get">get</span> /<wbr>ping</a></li><li><a href="#ping"><span class="m head">head</span> /<wbr>ping</a></li></ul></details></li><li><details><summary>Sessions</summary><ul><li><a href="#tag-sessions">About</a></li><li><a href="#createNonce"><span class="m post">post</span> /<wbr>nonces</a></li><li><a href="#createSession"><span class="m post">post</span> /<wbr>sessions</a></li><li><a href="#deleteSession"><span class="m delete">delete</span> /<wbr>sessions/<wbr><var>session_token</var></a></li></ul></details></li><li><details><summary>Push tokens</summary><ul><li><a href="#tag-push-tokens">About</a></li><li><a href="#createPushToken"><span class="m post">post</span> /<wbr>push_tokens</a></li><li><a href="#deletePushToken"><span class="m delete">delete</span> /<wbr>push_tokens/<wbr><var>device_id</var></a></li></ul></details></li><li><details><summary>Identities</summary><ul><li><a href="#tag-identities">About</a></li><li><a href="#listIdentities"><span class="m get">get</span> /<wbr>identities</a></li><li><a href="#getIdentity"><span class="m get">get</span> /<wbr>identities/<wbr><var>user_id</var></a></li></ul></details></li><li><details><summary>Following</summary><ul><li><a href="#tag-following">About</a></li><li><a href="#listFollowing"><span class="m get">get</span> /<wbr>following</a></li><li><a href="#unfollowByShortPath"><span class="m delete">delete</span> /<wbr>following/<wbr><var>user_id</var></a></li><li><a href="#followMany"><span class="m post">post</span> /<wbr>following/<wbr>users</a></li><li><a href="#isFollowing"><span class="m get">get</span> /<wbr>following/<wbr>users/<wbr><var>user_id</var></a></li><li><a href="#follow"><span class="m put">put</span> /<wbr>following/<wbr>users/<wbr><var>user_id</var></a></li><li><a href="#unfollow"><span class="m delete">delete</span> /<wbr>following/<wbr>users/<wbr><var>user_id</var></a></li></ul></details></li><li><details><summary>Conversations</summary><ul><li><a href="#tag-conversations">About</a></li><li><a href="#listConversations"><span class="m get">get</span> /<wbr>conversations</a></li><li><a href="#createConversation"><span class="m post">post</span> /<wbr>conversations</a></li><li><a href="#getConversation"><span class="m get">get</span> /<wbr>conversations/<wbr><var>conversation_id</var></a></li><li><a href="#patchConversationByPost"><span class="m post">post</span> /<wbr>conversations/<wbr><var>conversation_id</var></a></li><li><a href="#patchConversation"><span class="m patch">patch</span> /<wbr>conversations/<wbr><var>conversation_id</var></a></li><li><a href="#deleteConversation"><span class="m delete">delete</span> /<wbr>conversations/<wbr><var>conversation_id</var></a></li></ul></details></li><li><details><summary>Messages</summary><ul><li><a href="#tag-messages">About</a></li><li><a href="#listMessages"><span class="m get">get</span> /<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>messages</a></li><li><a href="#sendMessage"><span class="m post">post</span> /<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>messages</a></li><li><a href="#getMessage"><span class="m get">get</span> /<wbr>messages/<wbr><var>message_id</var></a></li><li><a href="#deleteMessage"><span class="m delete">delete</span> /<wbr>messages/<wbr><var>message_id</var></a></li><li><a href="#listParts"><span class="m get">get</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</a></li><li><a href="#addPart"><span class="m post">post</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</a></li><li><a href="#replaceParts"><span class="m put">put</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</a></li><li><a href="#getPart"><span class="m get">get</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></a></li><li><a href="#replacePart"><span class="m put">put</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></a></li><li><a href="#deletePart"><span class="m delete">delete</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></a></li></ul></details></li><li><details><summary>Receipts</summary><ul><li><a href="#tag-receipts">About</a></li><li><a href="#markAllRead"><span class="m post">post</span> /<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>mark_all_read</a></li><li><a href="#giveReceipt"><span class="m post">post</span> /<wbr>messages/<wbr><var>message_id</var>/<wbr>receipts</a></li></ul></details></li><li><details><summary>Rich content</summary><ul><li><a href="#tag-rich-content">About</a></li><li><a href="#createContent"><span class="m post">post</span> /<wbr>content</a></li><li><a href="#getContent"><span class="m get">get</span> /<wbr>content/<wbr><var>content_id</var></a></li><li><a href="#uploadContent"><span class="m put">put</span> /<wbr>content/<wbr>uploads/<wbr><var>token</var></a></li><li><a href="#downloadContent"><span class="m get">get</span> /<wbr>content/<wbr>downloads/<wbr><var>token</var></a></li><li><a href="#downloadContentHead"><span class="m head">head</span> /<wbr>content/<wbr>downloads/<wbr><var>token</var></a></li></ul></details></li><li><details><summary>Announcements</summary><ul><li><a href="#tag-announcements">About</a></li><li><a href="#listAnnouncements"><span class="m get">get</span> /<wbr>announcements</a></li><li><a href="#getAnnouncement"><span class="m get">get</span> /<wbr>announcements/<wbr><var>announcement_id</var></a></li><li><a href="#deleteAnnouncement"><span class="m delete">delete</span> /<wbr>announcements/<wbr><var>announcement_id</var></a></li><li><a href="#giveAnnouncementReceipt"><span class="m post">post</span> /<wbr>announcements/<wbr><var>announcement_id</var>/<wbr>receipts</a></li></ul></details></li><li><details><summary>Channels</summary><ul><li><a href="#tag-channels">About</a></li><li><a href="#listChannels"><span class="m get">get</span> /<wbr>channels</a></li></ul></details></li><li><a href="#schemas">Objects</a></li></ul><h2><a href="#websocket">WebSocket</a></h2><ul><li><a href="#ws-handshake">Handshake</a></li><li><a href="#ws-envelope">Envelope</a></li><li><a href="#ws-versions">Versions</a></li><li><a href="#ws-limits">Limits</a></li><li><details><summary>Requests</summary><ul><li><a href="#ws-requests">About</a></li><li><a href="#op-counterRead">Counter.read</a></li><li><a href="#op-eventReplay">Event.replay</a></li><li><a href="#op-conversationCreate">Conversation.create</a></li><li><a href="#op-messageCreate">Message.create</a></li><li><a href="#op-presenceSubscribe">Presence.subscribe</a></li><li><a href="#op-presenceUnsubscribe">Presence.unsubscribe</a></li><li><a href="#op-presenceUpdate">Presence.update</a></li><li><a href="#op-presenceSync">Presence.sync</a></li><li><a href="#op-typingSent">Typing, from a client</a></li></ul></details></li><li><details><summary>Changes</summary><ul><li><a href="#ws-changes">About</a></li><li><a href="#packet-ConversationCreated">Conversation create</a></li><li><a href="#packet-ConversationUpdated">Conversation update</a></li><li><a href="#packet-ConversationDeleted">Conversation delete</a></li><li><a href="#packet-MessageCreated">Message create</a></li><li><a href="#packet-MessageUpdated">Message update</a></li><li><a href="#packet-MessageDeleted">Message delete</a></li><li><a href="#packet-MessagePartUpdated">MessagePart update</a></li><li><a href="#packet-IdentityCreated">Identity create</a></li><li><a href="#packet-IdentityUpdated">Identity update</a></li><li><a href="#packet-IdentityDeleted">Identity delete</a></li><li><a href="#packet-AnnouncementCreated">Announcement create</a></li><li><a href="#packet-AnnouncementUpdated">Announcement update</a></li><li><a href="#packet-AnnouncementDeleted">Announcement delete</a></li></ul></details></li><li><details><summary>Operations</summary><ul><li><a href="#ws-operations">About</a></li><li><a href="#packet-AllRead">Conversation.mark_all_read</a></li></ul></details></li><li><details><summary>Signals</summary><ul><li><a href="#ws-signals">About</a></li><li><a href="#packet-Typing">typing_indicator</a></li></ul></details></li><li><a href="#ws-fan-out">Who is told what</a></li><li><a href="#ws-ordering">Order</a></li><li><a href="#ws-closing">Close codes</a></li><li><a href="#ws-schemas">Pieces of packets</a></li></ul><h2><a href="#sync">Syncing exactly</a></h2><ul><li><a href="#sync-what-strata-adds">What Strata adds</a></li><li><a href="#sync-what-a-client-keeps">What a client keeps</a></li><li><a href="#sync-first-load">First load</a></li><li><a href="#sync-applying-packets">Applying packets</a></li><li><a href="#sync-while-connected">While connected</a></li><li><a href="#sync-coming-back">Coming back</a></li><li><a href="#sync-typing">Typing</a></li><li><a href="#sync-presence">Presence</a></li><li><a href="#sync-receipts">Receipts</a></li><li><a href="#sync-deleting-from-the-own-devices">Deleting from the own devices</a></li><li><a href="#sync-what-is-promised">What is promised</a></li></ul></nav><main><header><h1 id="top">Strata Client API</h1>
<p class="lead">Conversations, messages, receipts, typing and presence, over REST and WebSocket. Versions 2.0 and 3.0 of the Layer Client API, as this server speaks them.</p>
<div class="cards">
<a href="#rest"><b>REST</b><span>Sign in, load and change objects, upload content</span></a>
<a href="#websocket"><b>WebSocket</b><span>Send, and be told of every change as it happens</span></a>
<a href="#sync"><b>Syncing exactly</b><span>Positions, replay, and what a client must do</span></a>
<a href="errors"><b>Errors</b><span>What each error id means, and what to do about it</span></a>
</div>
<p>For tools: <a href="openapi.yaml">openapi.yaml</a> (OpenAPI 3.1) and <a href="asyncapi.yaml">asyncapi.yaml</a> (AsyncAPI 3.0), which this page is made from.</p></header>
<h1 id="rest">REST <a class="anchor" href="#rest" aria-label="Link to this">#</a></h1>
<p>The REST half of the Client API as Strata serves it. The WebSocket half is described in <a href="asyncapi.yaml"><code>asyncapi.yaml</code></a>; how a client keeps an exact copy of what the server holds is described in <a href="#sync"><code>protocol.md</code></a>.</p>
<h3 id="rest-versions">Versions <a class="anchor" href="#rest-versions" aria-label="Link to this">#</a></h3>
<p>Every request that belongs to the API names a version in <code>Accept</code>:</p>
<pre><code>Accept: application/vnd.layer+json; version=3.0</code></pre>
<p>2.0 and 3.0 are served. They differ in one thing: the ids of message parts, which end in the part&#x27;s index in 2.0 and in its UUID in 3.0; members that only 3.0 has are marked. A missing, malformed or unknown version is answered with <code>406</code> and <a href="errors#invalid_header"><code>invalid_header</code></a>. Upload and download URLs, <code>GET /</code>, <code>/ping</code> and preflights need none. The answer is always <code>application/json</code>, errors included.</p>
<h3 id="rest-sessions">Sessions <a class="anchor" href="#rest-sessions" aria-label="Link to this">#</a></h3>
<p>Take a nonce (<code>POST /nonces</code>), have your own server sign an identity token that contains it, exchange that for a session (<code>POST /sessions</code>), and send the session with every request:</p>
<pre><code>Authorization: Layer session-token=&quot;Q7…&quot;</code></pre>
<p>A request without a session, or with one that has ended, is answered with <code>401</code>; <code>data.nonce</code> of the error is a fresh nonce to sign in again with.</p>
<h3 id="rest-identifiers">Identifiers <a class="anchor" href="#rest-identifiers" aria-label="Link to this">#</a></h3>
<p>Objects are named by URIs such as <code>layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01</code>. Every object also has a <code>url</code>, which is the public base URL followed by the id without <code>layer://</code>. Where a path or <code>from_id</code> wants an id, the bare UUID (or the user id, percent-encoded) and the whole URI are taken. Identity ids contain the user id percent-encoded: letters, digits, <code>-</code>, <code>_</code>, <code>.</code> and <code>*</code> stay, everything else becomes <code>%</code> and two upper-case hex digits.</p>
<h3 id="rest-creating-is-repeatable">Creating is repeatable <a class="anchor" href="#rest-creating-is-repeatable" aria-label="Link to this">#</a></h3>
<p>Conversations and messages may be created with an <code>id</code> chosen by the client. Repeating a create whose answer was lost is safe: it is answered with <code>409</code> <a href="errors#id_in_use"><code>id_in_use</code></a> and the object that exists.</p>
<h3 id="rest-lists">Lists <a class="anchor" href="#rest-lists" aria-label="Link to this">#</a></h3>
<p>Lists are arrays, newest first. <code>page_size</code> limits a page (larger values than the maximum are cut down to it), <code>from_id</code> asks for what comes after an item, and the header <code>Layer-Count</code> of every page tells how long the whole list is.</p>
<h3 id="rest-method-override">Method override <a class="anchor" href="#rest-method-override" aria-label="Link to this">#</a></h3>
<p><code>POST</code> with the header <code>X-HTTP-Method-Override: PATCH</code> is a <code>PATCH</code>.</p>
<h3 id="rest-browsers">Browsers <a class="anchor" href="#rest-browsers" aria-label="Link to this">#</a></h3>
<p><code>OPTIONS</code> on any path answers a preflight. If a request has an <code>Origin</code>, the answer, errors included, has <code>Access-Control-Allow-Origin</code> with that origin, <code>Access-Control-Allow-Credentials: true</code>, <code>Vary: Origin</code> and <code>Access-Control-Expose-Headers: Layer-Count, Link, Content-Range, ETag, Retry-After</code>.</p>
<h3 id="rest-errors">Errors <a class="anchor" href="#rest-errors" aria-label="Link to this">#</a></h3>
<p>The body of every answer that is no success is an error object, whose <code>id</code> says what it is. Where there is no such method and path the answer is <code>404</code> <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>, for a known path with another method, too; what is no proper HTTP is <code>400</code> <a href="errors#invalid_request"><code>invalid_request</code></a>, and so is a request of HTTP/1.1 without a <code>Host</code>, or with two. With a body larger than 1 MB the status of <a href="errors#invalid_request"><code>invalid_request</code></a> is <code>413</code>, with a compressed one <code>415</code>, with a head that is too large <code>431</code>. A client that sends <code>Expect: 100-continue</code> gets <code>100 Continue</code> when its body is wanted, and a refusal instead when it is not. <code>429</code> and <code>503</code> are worth repeating, <code>429</code> after <code>Retry-After</code> seconds.</p>
<h3 id="answers">Answers to any request <a class="anchor" href="#answers" aria-label="Link to this">#</a></h3>
<div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s4">401</span></td><td><a href="errors#authentication_required"><code>authentication_required</code></a>: no session, or it has ended. Sign in again with <code>data.nonce</code>.</td><td><a href="#schema-AuthenticationRequired">AuthenticationRequired</a></td></tr><tr><td><span class="status s4">406</span></td><td><a href="errors#invalid_header"><code>invalid_header</code></a>: the header named in <code>data.header</code> is missing or not one that is served.</td><td><a href="#schema-InvalidHeader">InvalidHeader</a></td></tr><tr><td><span class="status s4">408</span></td><td><a href="errors#request_timeout"><code>request_timeout</code></a>: the request took too long to arrive, and was not carried out. Cut off in the middle of a body, the answer may have none.</td><td><a href="#schema-Error">Error</a></td></tr><tr><td><span class="status s4">429</span></td><td><a href="errors#rate_limit_exceeded"><code>rate_limit_exceeded</code></a>: far more requests than any ordinary client sends, by this session or from this address.</td><td><a href="#schema-Error">Error</a><br><code>Retry-After</code></td></tr><tr><td><span class="status s4">503</span></td><td><a href="errors#service_unavailable"><code>service_unavailable</code></a>: something the server depends on is away, or answered too late; in that case what was asked for may have happened all the same. Try again after <code>Retry-After</code> seconds, with the same id.</td><td><a href="#schema-Error">Error</a></td></tr></tbody></table></div>
<h2 id="tag-discovery">Discovery <a class="anchor" href="#tag-discovery" aria-label="Link to this">#</a></h2>
<p>Where things are, whether the server is there, and whether a session still is.</p>
<section class="operation"><h3 id="discover" class="operation"><span class="method get">GET</span> <span class="path">/<wbr></span> <a class="anchor" href="#discover" aria-label="Link to this">#</a></h3><p class="summary">Discovery and session check</p><p>The <code>Link</code> header tells where everything is. With an <code>Authorization</code> header the session is checked, too: <code>200</code> means that it is good, <code>401</code> that a new one is needed. Query parameters are ignored. With <code>Upgrade: websocket</code> this is the socket, see <a href="asyncapi.yaml"><code>asyncapi.yaml</code></a>; a refused handshake is answered with the errors below.</p><p class="note">A session is taken, and not needed.</p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>An empty object.</td><td><a href="#schema-Empty">Empty</a><br><code>Link</code></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>{}</code></pre></details></section>
<section class="operation"><h3 id="discoverHead" class="operation"><span class="method head">HEAD</span> <span class="path">/<wbr></span> <a class="anchor" href="#discoverHead" aria-label="Link to this">#</a></h3><p class="summary">Discovery without a body</p><p class="note">No session.</p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>Only the header.</td><td><code>Link</code></td></tr><tr><td><span class="status s4">429</span></td><td>Too many requests.</td><td></td></tr></tbody></table></div></section>
<section class="operation"><h3 id="preflight" class="operation"><span class="method options">OPTIONS</span> <span class="path">/<wbr></span> <a class="anchor" href="#preflight" aria-label="Link to this">#</a></h3><p class="summary">Preflight</p><p>The same on every path, whether it exists or not.</p><p class="note">No session.</p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>What browsers may send.</td><td><code>Access-Control-Allow-Methods</code><br><code>Access-Control-Allow-Headers</code><br><code>Access-Control-Max-Age</code></td></tr></tbody></table></div></section>
<section class="operation"><h3 id="discoverByOldPath" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>websocket</span> <a class="anchor" href="#discoverByOldPath" aria-label="Link to this">#</a></h3><p class="summary">Another name of /</p><p>Where clients from before July 2016 open their socket. Otherwise like <code>GET /</code>.</p><p class="note">A session is taken, and not needed.</p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>An empty object.</td><td><a href="#schema-Empty">Empty</a><br><code>Link</code></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>{}</code></pre></details></section>
<section class="operation"><h3 id="pingGet" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>ping</span> <a class="anchor" href="#pingGet" aria-label="Link to this">#</a></h3><p class="summary">The same for those who cannot send HEAD</p><p class="note">No session.</p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>It is. No body.</td><td></td></tr></tbody></table></div></section>
<section class="operation"><h3 id="ping" class="operation"><span class="method head">HEAD</span> <span class="path">/<wbr>ping</span> <a class="anchor" href="#ping" aria-label="Link to this">#</a></h3><p class="summary">Is the server there?</p><p>Cheap, and never limited. Query parameters are ignored.</p><p class="note">No session.</p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>It is. No body.</td><td></td></tr></tbody></table></div></section>
<h2 id="tag-sessions">Sessions <a class="anchor" href="#tag-sessions" aria-label="Link to this">#</a></h2>
<p>Signing in and out.</p>
<section class="operation"><h3 id="createNonce" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>nonces</span> <a class="anchor" href="#createNonce" aria-label="Link to this">#</a></h3><p class="summary">Take a nonce</p><p>No body, and no session. A nonce is good once, for 10 minutes.</p><p class="note">No session.</p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">201</span></td><td>A nonce.</td><td><a href="#schema-Nonce">Nonce</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 406, 429, 503</p><details><summary>Answer 201</summary><pre class="json"><code>{ <span class="key">&quot;nonce&quot;</span>: <span class="str">&quot;AAABlUqv0xkXbV8m2m4Jt2gq1z0vXwq3c9kq7cQ&quot;</span> }</code></pre></details></section>
<section class="operation"><h3 id="createSession" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>sessions</span> <a class="anchor" href="#createSession" aria-label="Link to this">#</a></h3><p class="summary">Sign in</p><p>Exchanges an identity token for a session, which lasts 30 days from its last use unless the operator set something else.</p>
<p>An identity token is a compact JWS, signed with <code>RS256</code>, whose header has <code>cty</code> = <code>layer-eit;v=1</code> and <code>kid</code> = the id of the app&#x27;s key, and whose claims are <code>iss</code> (the app&#x27;s provider id), <code>prn</code> (the user id), <code>iat</code>, <code>exp</code> (seconds), <code>nce</code> (a nonce), and optionally <code>display_name</code>, <code>avatar_url</code>, <code>first_name</code>, <code>last_name</code>, <code>phone_number</code>, <code>email_address</code>, <code>public_key</code>: those change the user&#x27;s identity. The nonce is used up only if everything else is valid. Whatever is wrong with the token is answered in the same way: <code>422</code>, <a href="errors#invalid_property"><code>invalid_property</code></a>, <code>data.property</code> = <code>identity_token</code>.</p><p class="note">No session.</p><p class="label">Body <span><a href="#schema-SessionRequest">SessionRequest</a> as <code>application/json</code></span></p><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;identity_token&quot;</span>: <span class="str">&quot;eyJhbGciOiJSUzI1NiIs…&quot;</span>,
  <span class="key">&quot;app_id&quot;</span>: <span class="str">&quot;layer:///apps/production/5f0c9a4e-7f1d-4d6c-9a0e-3b7a9d1c2e4f&quot;</span>
}</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">201</span></td><td>The session.</td><td><a href="#schema-Session">Session</a><br><code>Link</code></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#invalid_app_id"><code>invalid_app_id</code></a>: there is no such app. <a href="errors#app_suspended"><code>app_suspended</code></a>, <a href="errors#user_suspended"><code>user_suspended</code></a>: the operator has suspended it, or him.</td><td><a href="#schema-SignInRefused">SignInRefused</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 406, 408, 429, 503</p><details><summary>Answer 201</summary><pre class="json"><code>{ <span class="key">&quot;session_token&quot;</span>: <span class="str">&quot;m0Yy1Vb2w4q8f3hZ7nK5tR9xC6pL1sD0gJ2aE4uT8iQ&quot;</span> }</code></pre></details></section>
<section class="operation"><h3 id="deleteSession" class="operation"><span class="method delete">DELETE</span> <span class="path">/<wbr>sessions/<wbr><var>session_token</var></span> <a class="anchor" href="#deleteSession" aria-label="Link to this">#</a></h3><p class="summary">Sign out</p><p>Ends the session and closes its sockets with code 4401. A session that does not exist has ended: <code>204</code> as well. The <code>Authorization</code> header may be left out; if it is there, it must name the same session.</p><p class="note">A session is taken, and not needed.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>session_token</code> <span class="required">required</span></td><td>path</td><td>string</td><td>The session to end. <span class="limits">at least 1 long</span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>It has ended.</td><td></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 406, 408, 429, 503</p></section>
<h2 id="tag-push-tokens">Push tokens <a class="anchor" href="#tag-push-tokens" aria-label="Link to this">#</a></h2>
<p>Devices that want to be told of messages while no socket is open. Tokens are stored; Strata does not send pushes yet.</p>
<section class="operation"><h3 id="createPushToken" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>push_tokens</span> <a class="anchor" href="#createPushToken" aria-label="Link to this">#</a></h3><p class="summary">Register a device</p><p>One token per device id and app; a new one replaces it, whoever registered it.</p><p class="label">Body <span><a href="#schema-PushToken">PushToken</a> as <code>application/json</code></span></p><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;token&quot;</span>: <span class="str">&quot;9bd2f1a0c3&quot;</span>,
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;apns&quot;</span>,
  <span class="key">&quot;device_id&quot;</span>: <span class="str">&quot;1FA1-44D1&quot;</span>,
  <span class="key">&quot;apns_bundle_id&quot;</span>: <span class="str">&quot;org.example.chat&quot;</span>,
  <span class="key">&quot;ios_version&quot;</span>: <span class="str">&quot;16.4&quot;</span>
}</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">202</span></td><td>Stored. No body.</td><td></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="deletePushToken" class="operation"><span class="method delete">DELETE</span> <span class="path">/<wbr>push_tokens/<wbr><var>device_id</var></span> <a class="anchor" href="#deletePushToken" aria-label="Link to this">#</a></h3><p class="summary">Forget a device</p><p>An unknown device is no error.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>device_id</code> <span class="required">required</span></td><td>path</td><td>string</td><td>As it was registered. <span class="limits">at least 1 long</span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">202</span></td><td>Forgotten. No body.</td><td></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<h2 id="tag-identities">Identities <a class="anchor" href="#tag-identities" aria-label="Link to this">#</a></h2>
<p>Users as others see them.</p>
<section class="operation"><h3 id="listIdentities" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>identities</span> <a class="anchor" href="#listIdentities" aria-label="Link to this">#</a></h3><p class="summary">Identities the user follows</p><p>Newest first, by when the identity was created; without the user himself.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>page_size</code></td><td>query</td><td>integer</td><td>At most so many items. More than 500 is the same as 500. <span class="limits">default <code>500</code>, at least 1</span></td></tr><tr><td><code>from_id</code></td><td>query</td><td>string</td><td>What comes after this identity.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>A page.</td><td>array of <a href="#schema-Identity">Identity</a><br><code>Layer-Count</code></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>[
  {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
    <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
    <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
    <span class="key">&quot;avatar_url&quot;</span>: <span class="str">&quot;https://cdn.example.org/ana.png&quot;</span>,
    <span class="key">&quot;first_name&quot;</span>: <span class="str">&quot;Ana&quot;</span>,
    <span class="key">&quot;last_name&quot;</span>: <span class="str">&quot;Silva&quot;</span>,
    <span class="key">&quot;phone_number&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;email_address&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;public_key&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;type&quot;</span>: <span class="str">&quot;user&quot;</span>,
    <span class="key">&quot;identity_type&quot;</span>: <span class="str">&quot;user&quot;</span>,
    <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;team&quot;</span>: <span class="str">&quot;blue&quot;</span> }
  }
]</code></pre></details></section>
<section class="operation"><h3 id="getIdentity" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>identities/<wbr><var>user_id</var></span> <a class="anchor" href="#getIdentity" aria-label="Link to this">#</a></h3><p class="summary">One identity</p><p>Of any user of the app, followed or not. A user id that has never been seen is answered with an identity that has nothing but this id, so that conversations can be started with users who have not signed in yet. <code>404</code> only for what cannot be a user id: empty, over 128 bytes, or with control characters.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>user_id</code> <span class="required">required</span></td><td>path</td><td>string</td><td>The app&#x27;s own id of the user, percent-encoded. <span class="limits">at least 1 long, at most 128 long</span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The identity.</td><td><a href="#schema-Identity">Identity</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
  <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
  <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
  <span class="key">&quot;avatar_url&quot;</span>: <span class="str">&quot;https://cdn.example.org/ana.png&quot;</span>,
  <span class="key">&quot;first_name&quot;</span>: <span class="str">&quot;Ana&quot;</span>,
  <span class="key">&quot;last_name&quot;</span>: <span class="str">&quot;Silva&quot;</span>,
  <span class="key">&quot;phone_number&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;email_address&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;public_key&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;user&quot;</span>,
  <span class="key">&quot;identity_type&quot;</span>: <span class="str">&quot;user&quot;</span>,
  <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;team&quot;</span>: <span class="str">&quot;blue&quot;</span> }
}</code></pre></details></section>
<h2 id="tag-following">Following <a class="anchor" href="#tag-following" aria-label="Link to this">#</a></h2>
<p>Whoever shares a conversation with somebody follows him from then on; anybody can be followed explicitly too. Those a user follows are his list of identities, and he is told when they change. Other sockets of the same user are told of an explicit follow or unfollow by Identity packets.</p>
<section class="operation"><h3 id="listFollowing" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>following</span> <a class="anchor" href="#listFollowing" aria-label="Link to this">#</a></h3><p class="summary">Ids of those the user follows</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>page_size</code></td><td>query</td><td>integer</td><td>At most so many items. More than 500 is the same as 500. <span class="limits">default <code>500</code>, at least 1</span></td></tr><tr><td><code>from_id</code></td><td>query</td><td>string</td><td>What comes after this identity.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>A page of identity ids.</td><td>array of <a href="#schema-IdentityID">IdentityID</a><br><code>Layer-Count</code></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>[<span class="str">&quot;layer:///identities/ben&quot;</span>, <span class="str">&quot;layer:///identities/cleo&quot;</span>]</code></pre></details></section>
<section class="operation"><h3 id="unfollowByShortPath" class="operation"><span class="method delete">DELETE</span> <span class="path">/<wbr>following/<wbr><var>user_id</var></span> <a class="anchor" href="#unfollowByShortPath" aria-label="Link to this">#</a></h3><p class="summary">Unfollow, by another path</p><p>Like <code>DELETE /following/users/{user_id}</code>.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>user_id</code> <span class="required">required</span></td><td>path</td><td>string</td><td>The app&#x27;s own id of the user, percent-encoded. <span class="limits">at least 1 long, at most 128 long</span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Not followed any more.</td><td></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="followMany" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>following/<wbr>users</span> <a class="anchor" href="#followMany" aria-label="Link to this">#</a></h3><p class="summary">Follow several users</p><p class="label">Body <span>array of string as <code>application/json</code></span></p><details><summary>Example</summary><pre class="json"><code>[<span class="str">&quot;ben&quot;</span>, <span class="str">&quot;layer:///identities/cleo&quot;</span>]</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">202</span></td><td>They will be followed at once. No body.</td><td></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="isFollowing" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>following/<wbr>users/<wbr><var>user_id</var></span> <a class="anchor" href="#isFollowing" aria-label="Link to this">#</a></h3><p class="summary">Is this user followed?</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>user_id</code> <span class="required">required</span></td><td>path</td><td>string</td><td>The app&#x27;s own id of the user, percent-encoded. <span class="limits">at least 1 long, at most 128 long</span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Yes.</td><td></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="follow" class="operation"><span class="method put">PUT</span> <span class="path">/<wbr>following/<wbr>users/<wbr><var>user_id</var></span> <a class="anchor" href="#follow" aria-label="Link to this">#</a></h3><p class="summary">Follow a user</p><p>Again is no error. Nobody follows himself (<code>422</code>, <a href="errors#invalid_property"><code>invalid_property</code></a>, <code>data.property</code> = <code>user_id</code>).</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>user_id</code> <span class="required">required</span></td><td>path</td><td>string</td><td>The app&#x27;s own id of the user, percent-encoded. <span class="limits">at least 1 long, at most 128 long</span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Followed.</td><td></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="unfollow" class="operation"><span class="method delete">DELETE</span> <span class="path">/<wbr>following/<wbr>users/<wbr><var>user_id</var></span> <a class="anchor" href="#unfollow" aria-label="Link to this">#</a></h3><p class="summary">Unfollow a user</p><p>Without effect, and no error, if he was not followed, or while the two share a conversation.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>user_id</code> <span class="required">required</span></td><td>path</td><td>string</td><td>The app&#x27;s own id of the user, percent-encoded. <span class="limits">at least 1 long, at most 128 long</span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Not followed any more.</td><td></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<h2 id="tag-conversations">Conversations <a class="anchor" href="#tag-conversations" aria-label="Link to this">#</a></h2>
<p>Every member of a conversation object is from the point of view of the user who asks.</p>
<section class="operation"><h3 id="listConversations" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>conversations</span> <a class="anchor" href="#listConversations" aria-label="Link to this">#</a></h3><p class="summary">The user&#x27;s conversations</p><p>Also those he has left or was removed from, as they were then and with <code>participants: []</code>; not those he deleted from his devices, nor those that were deleted for all. <code>created_at</code> is the order to load a whole list by, since it does not change meanwhile.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>page_size</code></td><td>query</td><td>integer</td><td>At most so many items. More than 100 is the same as 100. <span class="limits">default <code>100</code>, at least 1</span></td></tr><tr><td><code>from_id</code></td><td>query</td><td>string</td><td>What comes after this conversation. One that was deleted meanwhile still works; an unknown one does not.</td></tr><tr><td><code>sort_by</code></td><td>query</td><td><code>created_at</code> | <code>last_message</code></td><td><code>created_at</code>: newest conversation first. <code>last_message</code>: by the time of the last message, of which an empty conversation has its creation&#x27;s. <span class="limits">default <code>&quot;created_at&quot;</code></span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>A page.</td><td>array of <a href="#schema-Conversation">Conversation</a><br><code>Layer-Count</code></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>[
  {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
    <span class="key">&quot;messages_url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01/messages&quot;</span>,
    <span class="key">&quot;created_at&quot;</span>: <span class="str">&quot;2018-05-04T09:30:00.125Z&quot;</span>,
    <span class="key">&quot;participants&quot;</span>: [
      {
        <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
        <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
        <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
        <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
        <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
      },
      {
        <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
        <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>,
        <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ben&quot;</span>,
        <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ben Okoye&quot;</span>,
        <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
      }
    ],
    <span class="key">&quot;distinct&quot;</span>: <span class="lit">true</span>,
    <span class="key">&quot;last_message&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;unread_message_count&quot;</span>: <span class="lit">0</span>,
    <span class="key">&quot;total_message_count&quot;</span>: <span class="lit">0</span>,
    <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;title&quot;</span>: <span class="str">&quot;Weekend trip&quot;</span> },
    <span class="key">&quot;delivery_receipts&quot;</span>: <span class="lit">true</span>,
    <span class="key">&quot;read_receipts&quot;</span>: <span class="lit">true</span>,
    <span class="key">&quot;position&quot;</span>: <span class="lit">1</span>,
    <span class="key">&quot;epoch&quot;</span>: <span class="str">&quot;5kq3&quot;</span>
  }
]</code></pre></details></section>
<section class="operation"><h3 id="createConversation" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>conversations</span> <a class="anchor" href="#createConversation" aria-label="Link to this">#</a></h3><p class="summary">Create a conversation</p><p>A distinct conversation (the default) exists once for its set of participants. If there is one already, it is the answer (<code>200</code>), unless other metadata is asked for: that is a <a href="errors#conflict"><code>conflict</code></a>, with the existing conversation in <code>data</code>. A distinct conversation stops being distinct for good when its participants change.</p>
<p><code>delivery_receipts</code> and <code>read_receipts</code> can be switched off here and only here; they do not make a distinct conversation another one.</p><p class="label">Body <span><a href="#schema-NewConversation">NewConversation</a> as <code>application/json</code></span></p><details><summary>With Ben, wherever that is</summary><pre class="json"><code>{ <span class="key">&quot;participants&quot;</span>: [<span class="str">&quot;layer:///identities/ben&quot;</span>] }</code></pre></details><details><summary>A group of its own, with a title</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;participants&quot;</span>: [<span class="str">&quot;layer:///identities/ben&quot;</span>, <span class="str">&quot;layer:///identities/cleo&quot;</span>],
  <span class="key">&quot;distinct&quot;</span>: <span class="lit">false</span>,
  <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;title&quot;</span>: <span class="str">&quot;Weekend trip&quot;</span> }
}</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The distinct conversation of these participants, which existed.</td><td><a href="#schema-Conversation">Conversation</a></td></tr><tr><td><span class="status s2">201</span></td><td>A new conversation.</td><td><a href="#schema-Conversation">Conversation</a></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">409</span></td><td><a href="errors#id_in_use"><code>id_in_use</code></a>: the id is taken; <code>data</code> is the conversation, or empty if the user may not see it. <a href="errors#conflict"><code>conflict</code></a>: the distinct conversation has other metadata; <code>data</code> is that conversation.</td><td><a href="#schema-ConversationConflict">ConversationConflict</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;messages_url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01/messages&quot;</span>,
  <span class="key">&quot;created_at&quot;</span>: <span class="str">&quot;2018-05-04T09:30:00.125Z&quot;</span>,
  <span class="key">&quot;participants&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    },
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ben&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ben Okoye&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    }
  ],
  <span class="key">&quot;distinct&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;last_message&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;unread_message_count&quot;</span>: <span class="lit">0</span>,
  <span class="key">&quot;total_message_count&quot;</span>: <span class="lit">0</span>,
  <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;title&quot;</span>: <span class="str">&quot;Weekend trip&quot;</span> },
  <span class="key">&quot;delivery_receipts&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;read_receipts&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">1</span>,
  <span class="key">&quot;epoch&quot;</span>: <span class="str">&quot;5kq3&quot;</span>
}</code></pre></details><details><summary>Answer 201</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;messages_url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01/messages&quot;</span>,
  <span class="key">&quot;created_at&quot;</span>: <span class="str">&quot;2018-05-04T09:30:00.125Z&quot;</span>,
  <span class="key">&quot;participants&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    },
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ben&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ben Okoye&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    }
  ],
  <span class="key">&quot;distinct&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;last_message&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;unread_message_count&quot;</span>: <span class="lit">0</span>,
  <span class="key">&quot;total_message_count&quot;</span>: <span class="lit">0</span>,
  <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;title&quot;</span>: <span class="str">&quot;Weekend trip&quot;</span> },
  <span class="key">&quot;delivery_receipts&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;read_receipts&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">1</span>,
  <span class="key">&quot;epoch&quot;</span>: <span class="str">&quot;5kq3&quot;</span>
}</code></pre></details></section>
<section class="operation"><h3 id="getConversation" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>conversations/<wbr><var>conversation_id</var></span> <a class="anchor" href="#getConversation" aria-label="Link to this">#</a></h3><p class="summary">One conversation</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a conversation.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The conversation.</td><td><a href="#schema-Conversation">Conversation</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;messages_url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01/messages&quot;</span>,
  <span class="key">&quot;created_at&quot;</span>: <span class="str">&quot;2018-05-04T09:30:00.125Z&quot;</span>,
  <span class="key">&quot;participants&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    },
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ben&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ben Okoye&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    }
  ],
  <span class="key">&quot;distinct&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;last_message&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;unread_message_count&quot;</span>: <span class="lit">0</span>,
  <span class="key">&quot;total_message_count&quot;</span>: <span class="lit">0</span>,
  <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;title&quot;</span>: <span class="str">&quot;Weekend trip&quot;</span> },
  <span class="key">&quot;delivery_receipts&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;read_receipts&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">1</span>,
  <span class="key">&quot;epoch&quot;</span>: <span class="str">&quot;5kq3&quot;</span>
}</code></pre></details></section>
<section class="operation"><h3 id="patchConversationByPost" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>conversations/<wbr><var>conversation_id</var></span> <a class="anchor" href="#patchConversationByPost" aria-label="Link to this">#</a></h3><p class="summary">The same for those who cannot send PATCH</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a conversation.</td></tr><tr><td><code>X-HTTP-Method-Override</code> <span class="required">required</span></td><td>header</td><td><code>&quot;PATCH&quot;</code></td><td>Without it there is no such endpoint.</td></tr></tbody></table></div><p class="label">Body <span><a href="#schema-ConversationPatch">ConversationPatch</a> as <code>application/vnd.layer-patch+json</code></span></p><details><summary>Example</summary><pre class="json"><code>[{<span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;metadata.title&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;Weekend trip&quot;</span>}]</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Done.</td><td></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="patchConversation" class="operation"><span class="method patch">PATCH</span> <span class="path">/<wbr>conversations/<wbr><var>conversation_id</var></span> <a class="anchor" href="#patchConversation" aria-label="Link to this">#</a></h3><p class="summary">Change participants or metadata</p><p>All operations are checked, then all are applied, or none. Only <code>participants</code> and <code>metadata</code> (with any path below it) can be patched. Adding who is there, removing who is not and deleting a key that does not exist are no errors, and what changes nothing is announced to nobody.</p>
<p>Two users who set different keys never overwrite each other; of two who set the same key, the one whose change was committed later wins.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a conversation.</td></tr></tbody></table></div><p class="label">Body <span><a href="#schema-ConversationPatch">ConversationPatch</a> as <code>application/vnd.layer-patch+json</code></span></p><details><summary>Somebody goes, somebody comes</summary><pre class="json"><code>[
  { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;remove&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;participants&quot;</span>, <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span> },
  { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;add&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;participants&quot;</span>, <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/cleo&quot;</span> }
]</code></pre></details><details><summary>Single keys</summary><pre class="json"><code>[
  { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;metadata.trip.city&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;Porto&quot;</span> },
  { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;delete&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;metadata.trip.hotel&quot;</span> }
]</code></pre></details><details><summary>All metadata anew</summary><pre class="json"><code>[{<span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;metadata&quot;</span>, <span class="key">&quot;value&quot;</span>: {<span class="key">&quot;title&quot;</span>: <span class="str">&quot;New&quot;</span>}}]</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Done.</td><td></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="deleteConversation" class="operation"><span class="method delete">DELETE</span> <span class="path">/<wbr>conversations/<wbr><var>conversation_id</var></span> <a class="anchor" href="#deleteConversation" aria-label="Link to this">#</a></h3><p class="summary">Delete a conversation</p><p>For everybody, which cannot be undone, or for the user&#x27;s own devices: then it is hidden with all messages so far, and a later message brings it back with only the newer ones. With <code>leave</code> the user is removed from the participants, too. A former participant can only delete from his own devices.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a conversation.</td></tr><tr><td><code>mode</code></td><td>query</td><td><code>all_participants</code> | <code>my_devices</code></td><td>Who it is deleted for. Required, unless <code>destroy=true</code> says it.</td></tr><tr><td><code>leave</code></td><td>query</td><td>boolean</td><td>With <code>my_devices</code>, leave the conversation as well. <span class="limits">default <code>false</code></span></td></tr><tr><td><code>destroy</code> <span class="limits">deprecated</span></td><td>query</td><td>boolean</td><td><code>true</code> is an old spelling of <code>mode=all_participants</code>. <span class="limits">default <code>false</code></span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Deleted.</td><td></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<h2 id="tag-messages">Messages <a class="anchor" href="#tag-messages" aria-label="Link to this">#</a></h2>
<p>Messages and their parts, up to 2048 characters inline; anything larger is rich content.</p>
<section class="operation"><h3 id="listMessages" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>messages</span> <a class="anchor" href="#listMessages" aria-label="Link to this">#</a></h3><p class="summary">Messages of a conversation</p><p>Newest first, by <code>position</code>; those the user can see.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a conversation.</td></tr><tr><td><code>page_size</code></td><td>query</td><td>integer</td><td>At most so many items. More than 100 is the same as 100. <span class="limits">default <code>100</code>, at least 1</span></td></tr><tr><td><code>from_id</code></td><td>query</td><td>string</td><td>What comes after this message, that is, older ones. One that was deleted meanwhile still works; an unknown one does not.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>A page.</td><td>array of <a href="#schema-Message">Message</a><br><code>Layer-Count</code></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>[
  {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
    <span class="key">&quot;receipts_url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/receipts&quot;</span>,
    <span class="key">&quot;position&quot;</span>: <span class="lit">16384</span>,
    <span class="key">&quot;conversation&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
    },
    <span class="key">&quot;parts&quot;</span>: [
      {
        <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
        <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
        <span class="key">&quot;message_url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
        <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>,
        <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Train leaves at 8&quot;</span>,
        <span class="key">&quot;size&quot;</span>: <span class="lit">17</span>
      }
    ],
    <span class="key">&quot;sent_at&quot;</span>: <span class="str">&quot;2018-05-04T09:31:10.480Z&quot;</span>,
    <span class="key">&quot;updated_at&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;sender&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    },
    <span class="key">&quot;is_unread&quot;</span>: <span class="lit">false</span>,
    <span class="key">&quot;recipient_status&quot;</span>: { <span class="key">&quot;layer:///identities/ana&quot;</span>: <span class="str">&quot;read&quot;</span>, <span class="key">&quot;layer:///identities/ben&quot;</span>: <span class="str">&quot;sent&quot;</span> }
  }
]</code></pre></details></section>
<section class="operation"><h3 id="sendMessage" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>messages</span> <a class="anchor" href="#sendMessage" aria-label="Link to this">#</a></h3><p class="summary">Send a message</p><p>Sending ends the sender&#x27;s typing.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a conversation.</td></tr></tbody></table></div><p class="label">Body <span><a href="#schema-NewMessage">NewMessage</a> as <code>application/json</code></span></p><details><summary>Text</summary><pre class="json"><code>{ <span class="key">&quot;parts&quot;</span>: [{<span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>, <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Train leaves at 8&quot;</span>}] }</code></pre></details><details><summary>With ids, a picture and a notification</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
  <span class="key">&quot;parts&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
      <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>,
      <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Look&quot;</span>
    },
    {
      <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;image/jpeg&quot;</span>,
      <span class="key">&quot;content&quot;</span>: { <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11&quot;</span>, <span class="key">&quot;size&quot;</span>: <span class="lit">48213</span> }
    }
  ],
  <span class="key">&quot;notification&quot;</span>: { <span class="key">&quot;title&quot;</span>: <span class="str">&quot;Ana&quot;</span>, <span class="key">&quot;text&quot;</span>: <span class="str">&quot;sent you a picture&quot;</span> }
}</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">201</span></td><td>The message as stored.</td><td><a href="#schema-Message">Message</a></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">409</span></td><td><a href="errors#id_in_use"><code>id_in_use</code></a>: the id is taken; <code>data</code> is the message, or empty if the user may not see it.</td><td><a href="#schema-MessageConflict">MessageConflict</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 201</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
  <span class="key">&quot;receipts_url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/receipts&quot;</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">16384</span>,
  <span class="key">&quot;conversation&quot;</span>: {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
  },
  <span class="key">&quot;parts&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
      <span class="key">&quot;message_url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
      <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>,
      <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Train leaves at 8&quot;</span>,
      <span class="key">&quot;size&quot;</span>: <span class="lit">17</span>
    }
  ],
  <span class="key">&quot;sent_at&quot;</span>: <span class="str">&quot;2018-05-04T09:31:10.480Z&quot;</span>,
  <span class="key">&quot;updated_at&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;sender&quot;</span>: {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
    <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
    <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
    <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
  },
  <span class="key">&quot;is_unread&quot;</span>: <span class="lit">false</span>,
  <span class="key">&quot;recipient_status&quot;</span>: { <span class="key">&quot;layer:///identities/ana&quot;</span>: <span class="str">&quot;read&quot;</span>, <span class="key">&quot;layer:///identities/ben&quot;</span>: <span class="str">&quot;sent&quot;</span> }
}</code></pre></details></section>
<section class="operation"><h3 id="getMessage" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var></span> <a class="anchor" href="#getMessage" aria-label="Link to this">#</a></h3><p class="summary">One message</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The message.</td><td><a href="#schema-Message">Message</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
  <span class="key">&quot;receipts_url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/receipts&quot;</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">16384</span>,
  <span class="key">&quot;conversation&quot;</span>: {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
  },
  <span class="key">&quot;parts&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
      <span class="key">&quot;message_url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
      <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>,
      <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Train leaves at 8&quot;</span>,
      <span class="key">&quot;size&quot;</span>: <span class="lit">17</span>
    }
  ],
  <span class="key">&quot;sent_at&quot;</span>: <span class="str">&quot;2018-05-04T09:31:10.480Z&quot;</span>,
  <span class="key">&quot;updated_at&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;sender&quot;</span>: {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
    <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
    <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
    <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
  },
  <span class="key">&quot;is_unread&quot;</span>: <span class="lit">false</span>,
  <span class="key">&quot;recipient_status&quot;</span>: { <span class="key">&quot;layer:///identities/ana&quot;</span>: <span class="str">&quot;read&quot;</span>, <span class="key">&quot;layer:///identities/ben&quot;</span>: <span class="str">&quot;sent&quot;</span> }
}</code></pre></details></section>
<section class="operation"><h3 id="deleteMessage" class="operation"><span class="method delete">DELETE</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var></span> <a class="anchor" href="#deleteMessage" aria-label="Link to this">#</a></h3><p class="summary">Delete a message</p><p>For everybody, which any participant may do and nobody can undo, or from the user&#x27;s own devices.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr><tr><td><code>mode</code></td><td>query</td><td><code>all_participants</code> | <code>my_devices</code></td><td>Who it is deleted for. Required, unless <code>destroy=true</code> says it.</td></tr><tr><td><code>destroy</code> <span class="limits">deprecated</span></td><td>query</td><td>boolean</td><td><code>true</code> is an old spelling of <code>mode=all_participants</code>. <span class="limits">default <code>false</code></span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Deleted.</td><td></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="listParts" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</span> <a class="anchor" href="#listParts" aria-label="Link to this">#</a></h3><p class="summary">The parts of a message</p><p>All of them, in their order; there are no pages.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The parts.</td><td>array of <a href="#schema-MessagePart">MessagePart</a><br><code>Layer-Count</code></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="addPart" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</span> <a class="anchor" href="#addPart" aria-label="Link to this">#</a></h3><p class="summary">Add a part to a message</p><p>Only its sender may change a message, and only while he is a participant (<code>403</code> otherwise).</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr></tbody></table></div><p class="label">Body <span><a href="#schema-NewPart">NewPart</a> as <code>application/json</code></span></p><details><summary>Example</summary><pre class="json"><code>{ <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>, <span class="key">&quot;body&quot;</span>: <span class="str">&quot;And another thing&quot;</span> }</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">201</span></td><td>The part as stored.</td><td><a href="#schema-MessagePart">MessagePart</a></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="replaceParts" class="operation"><span class="method put">PUT</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var>/<wbr>parts</span> <a class="anchor" href="#replaceParts" aria-label="Link to this">#</a></h3><p class="summary">Replace all parts</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr></tbody></table></div><p class="label">Body <span>array of <a href="#schema-NewPart">NewPart</a> as <code>application/json</code></span></p><details><summary>Example</summary><pre class="json"><code>[{<span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>, <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Train leaves at 9&quot;</span>}]</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The parts as stored.</td><td>array of <a href="#schema-MessagePart">MessagePart</a><br><code>Layer-Count</code></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="getPart" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></span> <a class="anchor" href="#getPart" aria-label="Link to this">#</a></h3><p class="summary">One part</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr><tr><td><code>part</code> <span class="required">required</span></td><td>path</td><td>string, uuid or integer</td><td>The part&#x27;s UUID, or its index from 0.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The part.</td><td><a href="#schema-MessagePart">MessagePart</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="replacePart" class="operation"><span class="method put">PUT</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></span> <a class="anchor" href="#replacePart" aria-label="Link to this">#</a></h3><p class="summary">Change a part</p><p>The part keeps its id and its place.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr><tr><td><code>part</code> <span class="required">required</span></td><td>path</td><td>string, uuid or integer</td><td>The part&#x27;s UUID, or its index from 0.</td></tr></tbody></table></div><p class="label">Body <span><a href="#schema-NewPart">NewPart</a> as <code>application/json</code></span></p><details><summary>Example</summary><pre class="json"><code>{ <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>, <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Train leaves at 9&quot;</span> }</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The part as stored.</td><td><a href="#schema-MessagePart">MessagePart</a></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="deletePart" class="operation"><span class="method delete">DELETE</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var>/<wbr>parts/<wbr><var>part</var></span> <a class="anchor" href="#deletePart" aria-label="Link to this">#</a></h3><p class="summary">Remove a part</p><p>The last part cannot be removed (<code>422</code>, <a href="errors#invalid_operation"><code>invalid_operation</code></a>).</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr><tr><td><code>part</code> <span class="required">required</span></td><td>path</td><td>string, uuid or integer</td><td>The part&#x27;s UUID, or its index from 0.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Removed.</td><td></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<h2 id="tag-receipts">Receipts <a class="anchor" href="#tag-receipts" aria-label="Link to this">#</a></h2>
<p>How far messages came with the user who asks.</p>
<section class="operation"><h3 id="markAllRead" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>conversations/<wbr><var>conversation_id</var>/<wbr>mark_all_read</span> <a class="anchor" href="#markAllRead" aria-label="Link to this">#</a></h3><p class="summary">Mark everything as read</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a conversation.</td></tr></tbody></table></div><p class="label">Body <span><a href="#schema-MarkAllRead">MarkAllRead</a> as <code>application/json</code>, optional</span></p><details><summary>Example</summary><pre class="json"><code>{ <span class="key">&quot;position&quot;</span>: <span class="lit">81920</span> }</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Done.</td><td></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="giveReceipt" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>messages/<wbr><var>message_id</var>/<wbr>receipts</span> <a class="anchor" href="#giveReceipt" aria-label="Link to this">#</a></h3><p class="summary">Tell that a message was delivered or read</p><p>A receipt that changes nothing is no error. Receipts only ever move a status forward; reading implies delivery.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>message_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of a message.</td></tr></tbody></table></div><p class="label">Body <span><a href="#schema-Receipt">Receipt</a> as <code>application/json</code></span></p><details><summary>Example</summary><pre class="json"><code>{ <span class="key">&quot;type&quot;</span>: <span class="str">&quot;read&quot;</span> }</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Taken.</td><td></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">403</span></td><td><a href="errors#access_denied"><code>access_denied</code></a>: known to the user, but not permitted, for example to a former participant.</td><td><a href="#schema-AccessDenied">AccessDenied</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<h2 id="tag-rich-content">Rich content <a class="anchor" href="#tag-rich-content" aria-label="Link to this">#</a></h2>
<p>Bytes of any size up to 2 GB that message parts refer to:</p>
<ol><li><code>POST /content</code> announces type and size, and gives an <code>upload_url</code>.</li><li><code>PUT</code> the bytes there. No session and no <code>Accept</code>: the URL is the permission, and works for 24 hours.</li><li>Send a message with <code>&quot;content&quot;: {&quot;id&quot;: &quot;layer:///content/…&quot;, &quot;size&quot;: …}</code> in a part.</li><li>Whoever sees the message gets a Content object with a <code>download_url</code>, good for at least an hour; <code>refresh_url</code> gives a new one.</li></ol>
<p>Content that no message refers to is removed after a day.</p>
<section class="operation"><h3 id="createContent" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>content</span> <a class="anchor" href="#createContent" aria-label="Link to this">#</a></h3><p class="summary">Announce an upload</p><p>No body. A missing header is <code>422</code> <a href="errors#missing_property"><code>missing_property</code></a> with the header&#x27;s name in <code>data.property</code>.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>Upload-Content-Type</code> <span class="required">required</span></td><td>header</td><td>string</td><td>The MIME type of what will be uploaded.</td></tr><tr><td><code>Upload-Content-Length</code> <span class="required">required</span></td><td>header</td><td>integer</td><td>How many bytes will be uploaded, 2 GB at most unless the operator set something else. <span class="limits">at most 2,147,483,648</span></td></tr><tr><td><code>Upload-Origin</code></td><td>header</td><td>string</td><td>Taken, and not needed.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">201</span></td><td>Where to upload to. <code>download_url</code> and <code>expiration</code> are null until then.</td><td><a href="#schema-Content">Content</a></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 201</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11&quot;</span>,
  <span class="key">&quot;size&quot;</span>: <span class="lit">48213</span>,
  <span class="key">&quot;upload_url&quot;</span>: <span class="str">&quot;https://chat.example.org/content/uploads/0aVn3…&quot;</span>,
  <span class="key">&quot;download_url&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;expiration&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;refresh_url&quot;</span>: <span class="str">&quot;https://chat.example.org/content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11&quot;</span>
}</code></pre></details></section>
<section class="operation"><h3 id="getContent" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>content/<wbr><var>content_id</var></span> <a class="anchor" href="#getContent" aria-label="Link to this">#</a></h3><p class="summary">A fresh download URL</p><p>For who uploaded it, and for everybody who can see a message that refers to it.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>content_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of content.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>With a new <code>download_url</code> and <code>expiration</code>.</td><td><a href="#schema-Content">Content</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11&quot;</span>,
  <span class="key">&quot;size&quot;</span>: <span class="lit">48213</span>,
  <span class="key">&quot;download_url&quot;</span>: <span class="str">&quot;https://chat.example.org/content/downloads/Vw2p…&quot;</span>,
  <span class="key">&quot;expiration&quot;</span>: <span class="str">&quot;2018-05-04T13:31:10.480Z&quot;</span>,
  <span class="key">&quot;refresh_url&quot;</span>: <span class="str">&quot;https://chat.example.org/content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11&quot;</span>
}</code></pre></details></section>
<section class="operation"><h3 id="uploadContent" class="operation"><span class="method put">PUT</span> <span class="path">/<wbr>content/<wbr>uploads/<wbr><var>token</var></span> <a class="anchor" href="#uploadContent" aria-label="Link to this">#</a></h3><p class="summary">Upload</p><p>The raw bytes, as many as were announced; otherwise it is <code>422</code> <a href="errors#invalid_property"><code>invalid_property</code></a> and nothing is kept. An upload that breaks off leaves nothing behind and may be started anew. Once complete, further ones are <code>204</code>, and change nothing. Use the URL as it was given.</p><p class="note">No session.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>token</code> <span class="required">required</span></td><td>path</td><td>string</td><td>Part of a URL that was given; opaque, and the permission by itself. <span class="limits">at least 1 long</span></td></tr></tbody></table></div><p class="label">Body <span>string, binary as <code>application/octet-stream</code></span></p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Complete.</td><td></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 408, 429, 503</p></section>
<section class="operation"><h3 id="downloadContent" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>content/<wbr>downloads/<wbr><var>token</var></span> <a class="anchor" href="#downloadContent" aria-label="Link to this">#</a></h3><p class="summary">Download</p><p>Use the URL as it was given. One range of bytes may be asked for.</p><p class="note">No session.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>token</code> <span class="required">required</span></td><td>path</td><td>string</td><td>Part of a URL that was given; opaque, and the permission by itself. <span class="limits">at least 1 long</span></td></tr><tr><td><code>Range</code></td><td>header</td><td>string</td><td></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The bytes, with the type that was announced.</td><td><code>Accept-Ranges</code></td></tr><tr><td><span class="status s2">206</span></td><td>A part of them.</td><td><code>Content-Range</code></td></tr><tr><td><span class="status s3">304</span></td><td><code>If-None-Match</code> named what is there.</td><td></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">416</span></td><td>The range lies beyond the end.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a><br><code>Content-Range</code></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 408, 429, 503</p></section>
<section class="operation"><h3 id="downloadContentHead" class="operation"><span class="method head">HEAD</span> <span class="path">/<wbr>content/<wbr>downloads/<wbr><var>token</var></span> <a class="anchor" href="#downloadContentHead" aria-label="Link to this">#</a></h3><p class="summary">Size and type of a download</p><p class="note">No session.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>token</code> <span class="required">required</span></td><td>path</td><td>string</td><td>Part of a URL that was given; opaque, and the permission by itself. <span class="limits">at least 1 long</span></td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>As for GET, without a body.</td><td></td></tr><tr><td><span class="status s3">304</span></td><td>As for GET.</td><td></td></tr><tr><td><span class="status s4">404</span></td><td>No such URL, or not any more.</td><td></td></tr><tr><td><span class="status s4">408</span></td><td>It took too long.</td><td></td></tr><tr><td><span class="status s4">429</span></td><td>Too many requests.</td><td></td></tr><tr><td><span class="status s5">503</span></td><td>Not available at the moment, try again.</td><td></td></tr></tbody></table></div></section>
<h2 id="tag-announcements">Announcements <a class="anchor" href="#tag-announcements" aria-label="Link to this">#</a></h2>
<p>Messages of the operator to single users, outside of any conversation. They are sent with <code>strata announce</code>.</p>
<section class="operation"><h3 id="listAnnouncements" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>announcements</span> <a class="anchor" href="#listAnnouncements" aria-label="Link to this">#</a></h3><p class="summary">The user&#x27;s announcements</p><p>Newest first.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>page_size</code></td><td>query</td><td>integer</td><td>At most so many items. More than 100 is the same as 100. <span class="limits">default <code>100</code>, at least 1</span></td></tr><tr><td><code>from_id</code></td><td>query</td><td>string</td><td>What comes after this announcement.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>A page.</td><td>array of <a href="#schema-Announcement">Announcement</a><br><code>Layer-Count</code></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>[
  {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55&quot;</span>,
    <span class="key">&quot;receipts_url&quot;</span>: <span class="str">&quot;https://chat.example.org/announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55/receipts&quot;</span>,
    <span class="key">&quot;position&quot;</span>: <span class="lit">8192</span>,
    <span class="key">&quot;conversation&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;parts&quot;</span>: [
      {
        <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55/parts/8f0e9b35-6b2c-4f6d-8f33-3f1c2a9d7e10&quot;</span>,
        <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>,
        <span class="key">&quot;body&quot;</span>: <span class="str">&quot;We will be down for five minutes at noon.&quot;</span>,
        <span class="key">&quot;size&quot;</span>: <span class="lit">41</span>
      }
    ],
    <span class="key">&quot;sent_at&quot;</span>: <span class="str">&quot;2018-05-04T09:00:00.000Z&quot;</span>,
    <span class="key">&quot;updated_at&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;sender&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="lit">null</span>,
      <span class="key">&quot;url&quot;</span>: <span class="lit">null</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="lit">null</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;The operators&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>,
      <span class="key">&quot;name&quot;</span>: <span class="str">&quot;The operators&quot;</span>
    },
    <span class="key">&quot;is_unread&quot;</span>: <span class="lit">true</span>,
    <span class="key">&quot;recipient_status&quot;</span>: { <span class="key">&quot;layer:///identities/ana&quot;</span>: <span class="str">&quot;sent&quot;</span> }
  }
]</code></pre></details></section>
<section class="operation"><h3 id="getAnnouncement" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>announcements/<wbr><var>announcement_id</var></span> <a class="anchor" href="#getAnnouncement" aria-label="Link to this">#</a></h3><p class="summary">One announcement</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>announcement_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of an announcement.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>The announcement.</td><td><a href="#schema-Announcement">Announcement</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55&quot;</span>,
  <span class="key">&quot;receipts_url&quot;</span>: <span class="str">&quot;https://chat.example.org/announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55/receipts&quot;</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">8192</span>,
  <span class="key">&quot;conversation&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;parts&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55/parts/8f0e9b35-6b2c-4f6d-8f33-3f1c2a9d7e10&quot;</span>,
      <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>,
      <span class="key">&quot;body&quot;</span>: <span class="str">&quot;We will be down for five minutes at noon.&quot;</span>,
      <span class="key">&quot;size&quot;</span>: <span class="lit">41</span>
    }
  ],
  <span class="key">&quot;sent_at&quot;</span>: <span class="str">&quot;2018-05-04T09:00:00.000Z&quot;</span>,
  <span class="key">&quot;updated_at&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;sender&quot;</span>: {
    <span class="key">&quot;id&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;url&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;user_id&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;The operators&quot;</span>,
    <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;name&quot;</span>: <span class="str">&quot;The operators&quot;</span>
  },
  <span class="key">&quot;is_unread&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;recipient_status&quot;</span>: { <span class="key">&quot;layer:///identities/ana&quot;</span>: <span class="str">&quot;sent&quot;</span> }
}</code></pre></details></section>
<section class="operation"><h3 id="deleteAnnouncement" class="operation"><span class="method delete">DELETE</span> <span class="path">/<wbr>announcements/<wbr><var>announcement_id</var></span> <a class="anchor" href="#deleteAnnouncement" aria-label="Link to this">#</a></h3><p class="summary">Remove an announcement</p><p>For the user who asks only.</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>announcement_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of an announcement.</td></tr></tbody></table></div><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Removed.</td><td></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<section class="operation"><h3 id="giveAnnouncementReceipt" class="operation"><span class="method post">POST</span> <span class="path">/<wbr>announcements/<wbr><var>announcement_id</var>/<wbr>receipts</span> <a class="anchor" href="#giveAnnouncementReceipt" aria-label="Link to this">#</a></h3><p class="summary">Tell that an announcement was delivered or read</p><div class="scroll"><table class="members"><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>announcement_id</code> <span class="required">required</span></td><td>path</td><td>string, uuid</td><td>The UUID of an announcement.</td></tr></tbody></table></div><p class="label">Body <span><a href="#schema-Receipt">Receipt</a> as <code>application/json</code></span></p><details><summary>Example</summary><pre class="json"><code>{ <span class="key">&quot;type&quot;</span>: <span class="str">&quot;read&quot;</span> }</code></pre></details><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">204</span></td><td>Taken.</td><td></td></tr><tr><td><span class="status s4">400</span></td><td><a href="errors#invalid_request"><code>invalid_request</code></a>: the body is missing, larger than 1 MB, no JSON, or of another structure.</td><td><a href="#schema-MalformedRequest">MalformedRequest</a></td></tr><tr><td><span class="status s4">404</span></td><td><a href="errors#not_found"><code>not_found</code></a>: it does not exist, was deleted, or was never visible to the user. <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>: there is no such path.</td><td><a href="#schema-NotFound">NotFound</a></td></tr><tr><td><span class="status s4">422</span></td><td><a href="errors#missing_property"><code>missing_property</code></a>, <a href="errors#invalid_property"><code>invalid_property</code></a>, or <a href="errors#invalid_operation"><code>invalid_operation</code></a>; <code>data.property</code> names what is wrong, such as <code>parts.0.mime_type</code>.</td><td><a href="#schema-InvalidInput">InvalidInput</a></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p></section>
<h2 id="tag-channels">Channels <a class="anchor" href="#tag-channels" aria-label="Link to this">#</a></h2>
<p>Not served. The list is answered as empty, and everything else about channels with <code>404</code> <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>.</p>
<section class="operation"><h3 id="listChannels" class="operation"><span class="method get">GET</span> <span class="path">/<wbr>channels</span> <a class="anchor" href="#listChannels" aria-label="Link to this">#</a></h3><p class="summary">No channels</p><p class="label">Answers</p><div class="scroll"><table class="responses"><thead><tr><th>Status</th><th></th><th>Body and headers</th></tr></thead><tbody><tr><td><span class="status s2">200</span></td><td>An empty list.</td><td>empty array<br><code>Layer-Count</code></td></tr></tbody></table></div><p class="note"><a href="#answers">As any request</a>: 401, 406, 408, 429, 503</p><details><summary>Answer 200</summary><pre class="json"><code>[]</code></pre></details></section>
<h2 id="schemas">Objects <a class="anchor" href="#schemas" aria-label="Link to this">#</a></h2>
<section class="schema"><h3 id="schema-Empty">Empty <a class="anchor" href="#schema-Empty" aria-label="Link to this">#</a></h3><p>An object without members.</p><p class="option">object</p></section>
<section class="schema"><h3 id="schema-Nonce">Nonce <a class="anchor" href="#schema-Nonce" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>nonce</code> <span class="required">required</span></td><td>string</td><td>To be put into the claim <code>nce</code> of an identity token. <span class="limits">at least 16 long</span></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-SessionRequest">SessionRequest <a class="anchor" href="#schema-SessionRequest" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>identity_token</code> <span class="required">required</span></td><td>string</td><td>A compact JWS, signed by a key of the app.</td></tr><tr><td><code>app_id</code> <span class="required">required</span></td><td>string</td><td>The app, as <code>layer:///apps/production/&lt;uuid&gt;</code>, <code>layer:///apps/staging/&lt;uuid&gt;</code> or the UUID alone.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-Session">Session <a class="anchor" href="#schema-Session" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>session_token</code> <span class="required">required</span></td><td>string</td><td>Keep it secret. Letters and digits and <code>.</code> <code>_</code> <code>-</code>. <span class="limits"><code>^[A-Za-z0-9._-]{1,128}$</code></span></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-PushToken">PushToken <a class="anchor" href="#schema-PushToken" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>token</code> <span class="required">required</span></td><td>string</td><td>The token of the push service. <span class="limits">at least 1 long, at most 4,096 long</span></td></tr><tr><td><code>type</code> <span class="required">required</span></td><td><code>apns</code> | <code>gcm</code></td><td>The push service.</td></tr><tr><td><code>device_id</code> <span class="required">required</span></td><td>string</td><td>Stable name of the device. <span class="limits">at least 1 long, at most 4,096 long</span></td></tr><tr><td><code>apns_bundle_id</code></td><td>string</td><td></td></tr><tr><td><code>gcm_sender_id</code></td><td>string</td><td></td></tr><tr><td><code>ios_version</code></td><td>string</td><td>Such as <code>16.4</code>.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-IdentityID">IdentityID <a class="anchor" href="#schema-IdentityID" aria-label="Link to this">#</a></h3><p><code>layer:///identities/</code> and the user id, percent-encoded.</p><p class="option">string <span class=limits><code>^layer:///identities/.+$</code></span></p></section>
<section class="schema"><h3 id="schema-Timestamp">Timestamp <a class="anchor" href="#schema-Timestamp" aria-label="Link to this">#</a></h3><p>Always UTC with milliseconds.</p><p class="option">string, date-time <span class=limits><code>^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$</code></span></p></section>
<section class="schema"><h3 id="schema-BasicIdentity">BasicIdentity <a class="anchor" href="#schema-BasicIdentity" aria-label="Link to this">#</a></h3><p>What is shown of a user where he is only mentioned. The sender of an announcement may be nobody&#x27;s identity; then all but the name is null.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td><a href="#schema-IdentityID">IdentityID</a> or null</td><td>Null for a sender who is no user.</td></tr><tr><td><code>url</code> <span class="required">required</span></td><td>string or null</td><td>Where the full identity is.</td></tr><tr><td><code>user_id</code> <span class="required">required</span></td><td>string or null</td><td>The app&#x27;s own id of the user.</td></tr><tr><td><code>display_name</code> <span class="required">required</span></td><td>string or null</td><td>Null until the app has told one.</td></tr><tr><td><code>avatar_url</code> <span class="required">required</span></td><td>string or null</td><td></td></tr><tr><td><code>name</code></td><td>string</td><td>Of a sender who is no user; the same as <code>display_name</code>.</td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>,
  <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ben&quot;</span>,
  <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ben Okoye&quot;</span>,
  <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
}</code></pre></details></section>
<section class="schema"><h3 id="schema-Identity">Identity <a class="anchor" href="#schema-Identity" aria-label="Link to this">#</a></h3><p>Everything the app has told about a user.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td><a href="#schema-IdentityID">IdentityID</a></td><td></td></tr><tr><td><code>url</code> <span class="required">required</span></td><td>string, uri</td><td></td></tr><tr><td><code>user_id</code> <span class="required">required</span></td><td>string</td><td>The app&#x27;s own id of the user, 1 to 128 bytes.</td></tr><tr><td><code>display_name</code> <span class="required">required</span></td><td>string or null</td><td></td></tr><tr><td><code>avatar_url</code> <span class="required">required</span></td><td>string or null</td><td></td></tr><tr><td><code>first_name</code> <span class="required">required</span></td><td>string or null</td><td></td></tr><tr><td><code>last_name</code> <span class="required">required</span></td><td>string or null</td><td></td></tr><tr><td><code>phone_number</code> <span class="required">required</span></td><td>string or null</td><td></td></tr><tr><td><code>email_address</code> <span class="required">required</span></td><td>string or null</td><td></td></tr><tr><td><code>public_key</code> <span class="required">required</span></td><td>string or null</td><td>An RSA key, opaque to the server.</td></tr><tr><td><code>type</code> <span class="required">required</span></td><td><code>user</code> | <code>bot</code></td><td>The name client libraries read.</td></tr><tr><td><code>identity_type</code> <span class="required">required</span></td><td><code>user</code> | <code>bot</code></td><td>The documented name of the same.</td></tr><tr><td><code>metadata</code> <span class="required">required</span></td><td>object of string</td><td>At most 16 keys, without nesting. <span class="limits">at most 16 keys</span></td></tr><tr><td><code>presence</code></td><td><a href="#schema-Presence">Presence</a></td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
  <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
  <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
  <span class="key">&quot;avatar_url&quot;</span>: <span class="str">&quot;https://cdn.example.org/ana.png&quot;</span>,
  <span class="key">&quot;first_name&quot;</span>: <span class="str">&quot;Ana&quot;</span>,
  <span class="key">&quot;last_name&quot;</span>: <span class="str">&quot;Silva&quot;</span>,
  <span class="key">&quot;phone_number&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;email_address&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;public_key&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;user&quot;</span>,
  <span class="key">&quot;identity_type&quot;</span>: <span class="str">&quot;user&quot;</span>,
  <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;team&quot;</span>: <span class="str">&quot;blue&quot;</span> }
}</code></pre></details></section>
<section class="schema"><h3 id="schema-Presence">Presence <a class="anchor" href="#schema-Presence" aria-label="Link to this">#</a></h3><p>Whether a user is there. <code>invisible</code> is shown to himself only.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>status</code></td><td><code>available</code> | <code>busy</code> | <code>away</code> | <code>offline</code> | <code>invisible</code></td><td></td></tr><tr><td><code>last_seen_at</code></td><td><a href="#schema-Timestamp">Timestamp</a> or null</td><td>Null if he was never seen.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-Metadata">Metadata <a class="anchor" href="#schema-Metadata" aria-label="Link to this">#</a></h3><p>Nested objects with strings as leaves. Keys are letters, digits, <code>-</code> and <code>_</code>; a value is at most 2048 bytes of UTF-8; at most 32 levels, and 1024 bytes for the keys of one path together. An empty object below the top is the same as none. <code>__proto__</code>, <code>constructor</code> and <code>prototype</code> are no keys: clients in JavaScript would walk by them into what all objects share.</p>
<p>All of a conversation&#x27;s metadata is at most 1 MB, unless the operator set something else (<code>STRATA_METADATA_MAX_BYTES</code>): the UTF-8 of each value and of its path, the keys joined by dots. What would let it grow beyond that is <code>422</code>, <a href="errors#invalid_property"><code>invalid_property</code></a>, <code>data.property</code> = <code>metadata</code>, and changes nothing. Metadata that is larger already, since the limit was lowered, can still be changed in any way that does not let it grow.</p><p class="option">object of string or <a href="#schema-Metadata">Metadata</a></p><details><summary>Example</summary><pre class="json"><code>{ <span class="key">&quot;title&quot;</span>: <span class="str">&quot;Weekend trip&quot;</span>, <span class="key">&quot;trip&quot;</span>: {<span class="key">&quot;city&quot;</span>: <span class="str">&quot;Porto&quot;</span>} }</code></pre></details></section>
<section class="schema"><h3 id="schema-Conversation">Conversation <a class="anchor" href="#schema-Conversation" aria-label="Link to this">#</a></h3><p>A conversation as one user sees it.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^layer:///conversations/.+$</code></span></td></tr><tr><td><code>url</code> <span class="required">required</span></td><td>string, uri</td><td></td></tr><tr><td><code>messages_url</code> <span class="required">required</span></td><td>string, uri</td><td></td></tr><tr><td><code>created_at</code> <span class="required">required</span></td><td><a href="#schema-Timestamp">Timestamp</a></td><td></td></tr><tr><td><code>participants</code> <span class="required">required</span></td><td>array of <a href="#schema-BasicIdentity">BasicIdentity</a></td><td>Includes the user. Empty if he is no participant any more.</td></tr><tr><td><code>distinct</code> <span class="required">required</span></td><td>boolean</td><td>Whether it is the one conversation of exactly these participants.</td></tr><tr><td><code>last_message</code> <span class="required">required</span></td><td><a href="#schema-Message">Message</a> or null</td><td>The newest message the user can see.</td></tr><tr><td><code>unread_message_count</code> <span class="required">required</span></td><td>integer</td><td>Messages of others, visible to the user, that he has not read.</td></tr><tr><td><code>total_message_count</code> <span class="required">required</span></td><td>integer</td><td>Messages the user can see.</td></tr><tr><td><code>metadata</code> <span class="required">required</span></td><td><a href="#schema-Metadata">Metadata</a></td><td></td></tr><tr><td><code>delivery_receipts</code> <span class="required">required</span></td><td>boolean</td><td>Ours: whether others are told of deliveries.</td></tr><tr><td><code>read_receipts</code> <span class="required">required</span></td><td>boolean</td><td>Ours: whether others are told of reading.</td></tr><tr><td><code>position</code> <span class="required">required</span></td><td>integer</td><td>Ours: the last change of this conversation that the object contains. See <a href="#sync"><code>protocol.md</code></a>.</td></tr><tr><td><code>epoch</code> <span class="required">required</span></td><td>string</td><td>Ours: changes if the database was restored to an older state. See <a href="#sync"><code>protocol.md</code></a>.</td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
  <span class="key">&quot;messages_url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01/messages&quot;</span>,
  <span class="key">&quot;created_at&quot;</span>: <span class="str">&quot;2018-05-04T09:30:00.125Z&quot;</span>,
  <span class="key">&quot;participants&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    },
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>,
      <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ben&quot;</span>,
      <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ben Okoye&quot;</span>,
      <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
    }
  ],
  <span class="key">&quot;distinct&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;last_message&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;unread_message_count&quot;</span>: <span class="lit">0</span>,
  <span class="key">&quot;total_message_count&quot;</span>: <span class="lit">0</span>,
  <span class="key">&quot;metadata&quot;</span>: { <span class="key">&quot;title&quot;</span>: <span class="str">&quot;Weekend trip&quot;</span> },
  <span class="key">&quot;delivery_receipts&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;read_receipts&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">1</span>,
  <span class="key">&quot;epoch&quot;</span>: <span class="str">&quot;5kq3&quot;</span>
}</code></pre></details></section>
<section class="schema"><h3 id="schema-NewConversation">NewConversation <a class="anchor" href="#schema-NewConversation" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>participants</code> <span class="required">required</span></td><td>array of string</td><td>Identity ids, or user ids. The creator is added if he is missing, duplicates count once, and there may be 250 in all unless the operator set something else.</td></tr><tr><td><code>distinct</code></td><td>boolean or null</td><td> <span class="limits">default <code>true</code></span></td></tr><tr><td><code>metadata</code></td><td><a href="#schema-Metadata">Metadata</a> or null</td><td>Null is the same as none.</td></tr><tr><td><code>id</code></td><td>string or null</td><td>A UUID, or a whole <code>layer:///conversations/</code> id, chosen by the client.</td></tr><tr><td><code>delivery_receipts</code></td><td>boolean or null</td><td>Off: deliveries are recorded, and nobody else is told or shown them. <span class="limits">default <code>true</code></span></td></tr><tr><td><code>read_receipts</code></td><td>boolean or null</td><td>The same about reading; the own unread count goes on as ever. <span class="limits">default <code>true</code></span></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-ConversationPatch">ConversationPatch <a class="anchor" href="#schema-ConversationPatch" aria-label="Link to this">#</a></h3><p>Operations on <code>participants</code> and on <code>metadata</code> and anything below it.</p><p class="option">array of <a href="#schema-PatchOperation">PatchOperation</a></p></section>
<section class="schema"><h3 id="schema-PatchOperation">PatchOperation <a class="anchor" href="#schema-PatchOperation" aria-label="Link to this">#</a></h3><p>One operation of a patch. Paths are segments with dots between them; a dot or backslash inside a segment is escaped with a backslash. A missing object on the way is made. <code>index</code> is not supported.</p><p class="option">add or remove a participant</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>add</code> | <code>remove</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;participants&quot;</code></td><td></td></tr><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td>An identity id. <span class="limits">at least 1 long</span></td></tr></tbody></table></div><p class="option">set all participants</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;participants&quot;</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>array of string</td><td>Identity ids.</td></tr></tbody></table></div><p class="option">set all metadata</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;metadata&quot;</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td><a href="#schema-Metadata">Metadata</a></td><td></td></tr></tbody></table></div><p class="option">set a key of the metadata</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^metadata(\.[A-Za-z0-9_-]+)+$</code></span></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>string or <a href="#schema-Metadata">Metadata</a></td><td>A string or an object.</td></tr></tbody></table></div><p class="option">delete a key of the metadata</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;delete&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^metadata(\.[A-Za-z0-9_-]+)+$</code></span></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-MarkAllRead">MarkAllRead <a class="anchor" href="#schema-MarkAllRead" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>position</code></td><td>integer or null</td><td>The <code>position</code> of the last message that was read; null, or nothing at all: everything.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-ConversationReference">ConversationReference <a class="anchor" href="#schema-ConversationReference" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^layer:///conversations/.+$</code></span></td></tr><tr><td><code>url</code> <span class="required">required</span></td><td>string, uri</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-RecipientStatus">RecipientStatus <a class="anchor" href="#schema-RecipientStatus" aria-label="Link to this">#</a></h3><p>Identity id to how far the message came with that user. Those who were participants when it was sent, and those who came later, as <code>read</code>; the sender is always <code>read</code>. In a large conversation, and where a kind of receipts is switched off, everybody but the sender is shown the sender&#x27;s and his own only.</p><p class="option">object of <code>sent</code> | <code>delivered</code> | <code>read</code></p><details><summary>Example</summary><pre class="json"><code>{ <span class="key">&quot;layer:///identities/ana&quot;</span>: <span class="str">&quot;read&quot;</span>, <span class="key">&quot;layer:///identities/ben&quot;</span>: <span class="str">&quot;sent&quot;</span> }</code></pre></details></section>
<section class="schema"><h3 id="schema-Message">Message <a class="anchor" href="#schema-Message" aria-label="Link to this">#</a></h3><p>A message as one user sees it.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^layer:///messages/.+$</code></span></td></tr><tr><td><code>url</code> <span class="required">required</span></td><td>string, uri</td><td></td></tr><tr><td><code>receipts_url</code> <span class="required">required</span></td><td>string, uri</td><td></td></tr><tr><td><code>position</code> <span class="required">required</span></td><td>integer</td><td>Orders the messages of a conversation: later is larger. Steps of 8192, with gaps.</td></tr><tr><td><code>conversation</code> <span class="required">required</span></td><td><a href="#schema-ConversationReference">ConversationReference</a></td><td></td></tr><tr><td><code>parts</code> <span class="required">required</span></td><td>array of <a href="#schema-MessagePart">MessagePart</a></td><td> <span class="limits">at least 1</span></td></tr><tr><td><code>sent_at</code> <span class="required">required</span></td><td><a href="#schema-Timestamp">Timestamp</a></td><td></td></tr><tr><td><code>received_at</code></td><td><a href="#schema-Timestamp">Timestamp</a></td><td></td></tr><tr><td><code>updated_at</code> <span class="required">required</span></td><td><a href="#schema-Timestamp">Timestamp</a> or null</td><td>When a part was last changed; null if never.</td></tr><tr><td><code>sender</code> <span class="required">required</span></td><td><a href="#schema-BasicIdentity">BasicIdentity</a></td><td></td></tr><tr><td><code>is_unread</code> <span class="required">required</span></td><td>boolean</td><td>For the user who asks; false for the sender.</td></tr><tr><td><code>recipient_status</code> <span class="required">required</span></td><td><a href="#schema-RecipientStatus">RecipientStatus</a></td><td></td></tr><tr><td><code>notification</code></td><td><a href="#schema-Notification">Notification</a></td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
  <span class="key">&quot;receipts_url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/receipts&quot;</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">16384</span>,
  <span class="key">&quot;conversation&quot;</span>: {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
  },
  <span class="key">&quot;parts&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
      <span class="key">&quot;message_url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
      <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>,
      <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Train leaves at 8&quot;</span>,
      <span class="key">&quot;size&quot;</span>: <span class="lit">17</span>
    }
  ],
  <span class="key">&quot;sent_at&quot;</span>: <span class="str">&quot;2018-05-04T09:31:10.480Z&quot;</span>,
  <span class="key">&quot;updated_at&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;sender&quot;</span>: {
    <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
    <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
    <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
    <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
    <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
  },
  <span class="key">&quot;is_unread&quot;</span>: <span class="lit">false</span>,
  <span class="key">&quot;recipient_status&quot;</span>: { <span class="key">&quot;layer:///identities/ana&quot;</span>: <span class="str">&quot;read&quot;</span>, <span class="key">&quot;layer:///identities/ben&quot;</span>: <span class="str">&quot;sent&quot;</span> }
}</code></pre></details></section>
<section class="schema"><h3 id="schema-MessagePart">MessagePart <a class="anchor" href="#schema-MessagePart" aria-label="Link to this">#</a></h3><p>One piece of a message. It has a <code>body</code> or a <code>content</code>.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td><code>&lt;message id&gt;/parts/</code> and the UUID (3.0) or the index (2.0). <span class="limits"><code>^layer:///(messages|announcements)/[^/]+/parts/.+$</code></span></td></tr><tr><td><code>url</code></td><td>string, uri</td><td>In 3.0.</td></tr><tr><td><code>message_url</code></td><td>string, uri</td><td>In 3.0.</td></tr><tr><td><code>mime_type</code> <span class="required">required</span></td><td>string</td><td>As it was sent, parameters included.</td></tr><tr><td><code>body</code></td><td>string or null</td><td>Inline content.</td></tr><tr><td><code>encoding</code></td><td><code>&quot;base64&quot;</code></td><td>Present if the body is base64, which is passed on as it came.</td></tr><tr><td><code>content</code></td><td><a href="#schema-Content">Content</a></td><td></td></tr><tr><td><code>size</code></td><td>integer</td><td>Bytes of the decoded content.</td></tr><tr><td><code>updated_at</code></td><td><a href="#schema-Timestamp">Timestamp</a> or null</td><td>When it was last changed.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-NewPart">NewPart <a class="anchor" href="#schema-NewPart" aria-label="Link to this">#</a></h3><p>It has either a <code>body</code> of at most 2048 UTF-16 units (or 2048 decoded bytes of base64), or a <code>content</code>.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td>string or null</td><td>3.0: a UUID, or the whole id below that of the message, which is needed then. 2.0: ignored.</td></tr><tr><td><code>mime_type</code> <span class="required">required</span></td><td>string</td><td> <span class="limits">at least 1 long</span></td></tr><tr><td><code>body</code></td><td>string or null</td><td> <span class="limits">at most 2,048 long</span></td></tr><tr><td><code>encoding</code></td><td><code>base64</code> | <code>null</code></td><td></td></tr><tr><td><code>content</code></td><td><a href="#schema-ContentReference">ContentReference</a> or null</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-ContentReference">ContentReference <a class="anchor" href="#schema-ContentReference" aria-label="Link to this">#</a></h3><p>Content of the same app that was uploaded completely.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^layer:///content/.+$</code></span></td></tr><tr><td><code>size</code></td><td>integer</td><td>Bytes.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-NewMessage">NewMessage <a class="anchor" href="#schema-NewMessage" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td>string or null</td><td>A UUID, or a whole <code>layer:///messages/</code> id, chosen by the client.</td></tr><tr><td><code>parts</code> <span class="required">required</span></td><td>array of <a href="#schema-NewPart">NewPart</a></td><td>All bodies together at most 256 KB. <span class="limits">at least 1, at most 1,000</span></td></tr><tr><td><code>notification</code></td><td><a href="#schema-Notification">Notification</a> or null</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-Notification">Notification <a class="anchor" href="#schema-Notification" aria-label="Link to this">#</a></h3><p>What devices show of a message. Anything else in it is passed on. Never a reason to refuse a message; over 16 KB it is dropped.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>title</code></td><td>string</td><td></td></tr><tr><td><code>text</code></td><td>string</td><td></td></tr><tr><td><code>sound</code></td><td>string</td><td></td></tr><tr><td><code>recipients</code></td><td>object of object</td><td>Identity id to what is different for that user.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-Receipt">Receipt <a class="anchor" href="#schema-Receipt" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>type</code> <span class="required">required</span></td><td><code>read</code> | <code>delivery</code></td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-Content">Content <a class="anchor" href="#schema-Content" aria-label="Link to this">#</a></h3><p>Bytes outside of a message.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^layer:///content/.+$</code></span></td></tr><tr><td><code>size</code> <span class="required">required</span></td><td>integer</td><td>Bytes.</td></tr><tr><td><code>upload_url</code></td><td>string or null</td><td>Where to <code>PUT</code> the bytes; only in the answer to <code>POST /content</code>.</td></tr><tr><td><code>download_url</code> <span class="required">required</span></td><td>string or null</td><td>Where to <code>GET</code> the bytes; null before they were uploaded.</td></tr><tr><td><code>expiration</code> <span class="required">required</span></td><td><a href="#schema-Timestamp">Timestamp</a> or null</td><td>When <code>download_url</code> stops working.</td></tr><tr><td><code>refresh_url</code> <span class="required">required</span></td><td>string, uri</td><td>Where to <code>GET</code> this object anew.</td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11&quot;</span>,
  <span class="key">&quot;size&quot;</span>: <span class="lit">48213</span>,
  <span class="key">&quot;download_url&quot;</span>: <span class="str">&quot;https://chat.example.org/content/downloads/Vw2p…&quot;</span>,
  <span class="key">&quot;expiration&quot;</span>: <span class="str">&quot;2018-05-04T13:31:10.480Z&quot;</span>,
  <span class="key">&quot;refresh_url&quot;</span>: <span class="str">&quot;https://chat.example.org/content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11&quot;</span>
}</code></pre></details></section>
<section class="schema"><h3 id="schema-Announcement">Announcement <a class="anchor" href="#schema-Announcement" aria-label="Link to this">#</a></h3><p>Like a message, without a conversation. <code>recipient_status</code> names the user who asks only.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^layer:///announcements/.+$</code></span></td></tr><tr><td><code>url</code> <span class="required">required</span></td><td>string, uri</td><td></td></tr><tr><td><code>receipts_url</code> <span class="required">required</span></td><td>string, uri</td><td></td></tr><tr><td><code>position</code> <span class="required">required</span></td><td>integer</td><td>Orders the user&#x27;s announcements: later is larger.</td></tr><tr><td><code>conversation</code></td><td>null</td><td>Null or absent.</td></tr><tr><td><code>parts</code> <span class="required">required</span></td><td>array of <a href="#schema-MessagePart">MessagePart</a></td><td> <span class="limits">at least 1</span></td></tr><tr><td><code>sent_at</code> <span class="required">required</span></td><td><a href="#schema-Timestamp">Timestamp</a></td><td></td></tr><tr><td><code>updated_at</code></td><td>null</td><td></td></tr><tr><td><code>sender</code> <span class="required">required</span></td><td><a href="#schema-BasicIdentity">BasicIdentity</a></td><td></td></tr><tr><td><code>is_unread</code> <span class="required">required</span></td><td>boolean</td><td></td></tr><tr><td><code>recipient_status</code> <span class="required">required</span></td><td><a href="#schema-RecipientStatus">RecipientStatus</a></td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55&quot;</span>,
  <span class="key">&quot;receipts_url&quot;</span>: <span class="str">&quot;https://chat.example.org/announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55/receipts&quot;</span>,
  <span class="key">&quot;position&quot;</span>: <span class="lit">8192</span>,
  <span class="key">&quot;conversation&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;parts&quot;</span>: [
    {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55/parts/8f0e9b35-6b2c-4f6d-8f33-3f1c2a9d7e10&quot;</span>,
      <span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>,
      <span class="key">&quot;body&quot;</span>: <span class="str">&quot;We will be down for five minutes at noon.&quot;</span>,
      <span class="key">&quot;size&quot;</span>: <span class="lit">41</span>
    }
  ],
  <span class="key">&quot;sent_at&quot;</span>: <span class="str">&quot;2018-05-04T09:00:00.000Z&quot;</span>,
  <span class="key">&quot;updated_at&quot;</span>: <span class="lit">null</span>,
  <span class="key">&quot;sender&quot;</span>: {
    <span class="key">&quot;id&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;url&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;user_id&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;The operators&quot;</span>,
    <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>,
    <span class="key">&quot;name&quot;</span>: <span class="str">&quot;The operators&quot;</span>
  },
  <span class="key">&quot;is_unread&quot;</span>: <span class="lit">true</span>,
  <span class="key">&quot;recipient_status&quot;</span>: { <span class="key">&quot;layer:///identities/ana&quot;</span>: <span class="str">&quot;sent&quot;</span> }
}</code></pre></details></section>
<section class="schema"><h3 id="schema-Error">Error <a class="anchor" href="#schema-Error" aria-label="Link to this">#</a></h3><p>The body of every answer that is no success. Go by <code>id</code>; everything else is for people.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td><a href="#schema-ErrorID">ErrorID</a></td><td></td></tr><tr><td><code>code</code> <span class="required">required</span></td><td>integer</td><td>The number that belongs to the id.</td></tr><tr><td><code>message</code> <span class="required">required</span></td><td>string</td><td>An English sentence, which may change.</td></tr><tr><td><code>url</code> <span class="required">required</span></td><td>string, uri</td><td>Where the error is explained.</td></tr><tr><td><code>data</code> <span class="required">required</span></td><td>object</td><td>What the id alone does not tell; <code>{}</code> if nothing.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-MalformedRequest">MalformedRequest <a class="anchor" href="#schema-MalformedRequest" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>invalid_request</code> | <code>invalid_request_id</code></td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-AuthenticationRequired">AuthenticationRequired <a class="anchor" href="#schema-AuthenticationRequired" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>&quot;authentication_required&quot;</code></td><td></td></tr><tr><td><code>data</code></td><td>object</td><td></td></tr><tr><td><code>data.nonce</code> <span class="required">required</span></td><td>string</td><td> <span class="limits">at least 16 long</span></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-SignInRefused">SignInRefused <a class="anchor" href="#schema-SignInRefused" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>invalid_app_id</code> | <code>app_suspended</code> | <code>user_suspended</code></td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-AccessDenied">AccessDenied <a class="anchor" href="#schema-AccessDenied" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>access_denied</code> | <code>app_suspended</code> | <code>user_suspended</code></td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-NotFound">NotFound <a class="anchor" href="#schema-NotFound" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>not_found</code> | <code>invalid_endpoint</code></td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-InvalidHeader">InvalidHeader <a class="anchor" href="#schema-InvalidHeader" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>&quot;invalid_header&quot;</code></td><td></td></tr><tr><td><code>data</code></td><td>object</td><td></td></tr><tr><td><code>data.header</code> <span class="required">required</span></td><td>string</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-InvalidInput">InvalidInput <a class="anchor" href="#schema-InvalidInput" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>missing_property</code> | <code>invalid_property</code> | <code>invalid_operation</code></td><td></td></tr><tr><td><code>data</code></td><td>object</td><td></td></tr><tr><td><code>data.property</code></td><td>string</td><td>A dotted path with indices.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-ConversationConflict">ConversationConflict <a class="anchor" href="#schema-ConversationConflict" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>id_in_use</code> | <code>conflict</code></td><td></td></tr><tr><td><code>data</code></td><td><a href="#schema-Conversation">Conversation</a> or object</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-MessageConflict">MessageConflict <a class="anchor" href="#schema-MessageConflict" aria-label="Link to this">#</a></h3><p><a href="#schema-Error">Error</a>, with:</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code></td><td><code>&quot;id_in_use&quot;</code></td><td></td></tr><tr><td><code>data</code></td><td><a href="#schema-Message">Message</a> or object</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-ErrorID">ErrorID <a class="anchor" href="#schema-ErrorID" aria-label="Link to this">#</a></h3><p>What kind of error it is. Each is explained on the page of errors.</p><div class="scroll"><table class="members"><thead><tr><th>Id</th><th>Code</th><th>Status</th><th></th></tr></thead><tbody><tr><td><a href="errors#service_unavailable"><code>service_unavailable</code></a></td><td>1</td><td>503</td><td>Something the server depends on, such as its database, is away or overloaded.</td></tr><tr><td><a href="errors#invalid_app_id"><code>invalid_app_id</code></a></td><td>2</td><td>403</td><td>The app named at sign-in does not exist.</td></tr><tr><td><a href="errors#invalid_request_id"><code>invalid_request_id</code></a></td><td>3</td><td>400</td><td>An id in the request is no UUID. Reserved; Strata answers <a href="errors#not_found"><code>not_found</code></a> or <a href="errors#invalid_property"><code>invalid_property</code></a> instead.</td></tr><tr><td><a href="errors#authentication_required"><code>authentication_required</code></a></td><td>4</td><td>401</td><td>There is no session, it has ended or expired, or its user was suspended. <code>data.nonce</code> is a fresh nonce.</td></tr><tr><td><a href="errors#app_suspended"><code>app_suspended</code></a></td><td>5</td><td>403</td><td>The operator has suspended the app.</td></tr><tr><td><a href="errors#user_suspended"><code>user_suspended</code></a></td><td>6</td><td>403</td><td>The user is suspended and cannot sign in.</td></tr><tr><td><a href="errors#rate_limit_exceeded"><code>rate_limit_exceeded</code></a></td><td>7</td><td>429</td><td>Far more requests than an ordinary client sends, by one session or from one address.</td></tr><tr><td><a href="errors#request_timeout"><code>request_timeout</code></a></td><td>8</td><td>408</td><td>The request took too long. Whether it had an effect is unknown.</td></tr><tr><td><a href="errors#invalid_operation"><code>invalid_operation</code></a></td><td>9</td><td>422</td><td>The operation makes no sense on this object, such as deleting <code>metadata</code> as a whole or the last part of a message; on a socket also a method that does not exist.</td></tr><tr><td><a href="errors#invalid_request"><code>invalid_request</code></a></td><td>10</td><td>400</td><td>The request is malformed, a body that is no JSON, for example, or larger than 1 MB, or of another structure than the endpoint&#x27;s.</td></tr><tr><td><a href="errors#internal_server_error"><code>internal_server_error</code></a></td><td>100</td><td>500</td><td>Something unexpected went wrong on the server. It has logged the reason.</td></tr><tr><td><a href="errors#access_denied"><code>access_denied</code></a></td><td>101</td><td>403</td><td>The user knows the object but may not do this, as a former participant of the conversation, for example, or to somebody else&#x27;s message.</td></tr><tr><td><a href="errors#not_found"><code>not_found</code></a></td><td>102</td><td>404</td><td>The object does not exist, was deleted, or the user could never see it. It is not said which.</td></tr><tr><td><a href="errors#missing_property"><code>missing_property</code></a></td><td>104</td><td>422</td><td>A required property, parameter or header is missing; <code>data.property</code> names it.</td></tr><tr><td><a href="errors#invalid_property"><code>invalid_property</code></a></td><td>105</td><td>422</td><td>A property has a value that cannot be taken; <code>data.property</code> names it, with a path such as <code>parts.0.mime_type</code>. Also an identity token that is not good, whatever the reason.</td></tr><tr><td><a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a></td><td>106</td><td>404</td><td>There is no such method and path.</td></tr><tr><td><a href="errors#invalid_header"><code>invalid_header</code></a></td><td>107</td><td>406</td><td>A header is missing or not one that is served; <code>data.header</code> names it, <code>Accept</code>, <code>Content-Type</code> or <code>Sec-WebSocket-Protocol</code>.</td></tr><tr><td><a href="errors#conflict"><code>conflict</code></a></td><td>108</td><td>409</td><td>A distinct conversation with these participants exists and has other metadata; <code>data</code> is that conversation.</td></tr><tr><td><a href="errors#method_not_allowed"><code>method_not_allowed</code></a></td><td>109</td><td>405</td><td>The method is not allowed here. Reserved; Strata answers <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>.</td></tr><tr><td><a href="errors#id_in_use"><code>id_in_use</code></a></td><td>111</td><td>409</td><td>An object with this id exists; <code>data</code> is that object, or empty if the user may not see it.</td></tr></tbody></table></div></section>
<h1 id="websocket">WebSocket <a class="anchor" href="#websocket" aria-label="Link to this">#</a></h1>
<p>The WebSocket half of the Client API as Strata serves it: what clients ask for over a socket, and how they are told of changes. The objects inside packets are those of the REST half, <a href="openapi.yaml"><code>openapi.yaml</code></a>; how a client keeps an exact copy of what the server holds is described in <a href="#sync"><code>protocol.md</code></a>.</p>
<h3 id="ws-handshake">Handshake <a class="anchor" href="#ws-handshake" aria-label="Link to this">#</a></h3>
<pre><code>GET /?session_token=&lt;token&gt; HTTP/1.1
Upgrade: websocket
Sec-WebSocket-Protocol: layer-3.0</code></pre>
<p>The token of <code>POST /sessions</code> goes into the query, or into an <code>Authorization</code> header as in the REST half. <code>/websocket</code> is another name of the path. The subprotocol, <code>layer-3.0</code> or <code>layer-2.0</code>, is the version, and is named in the answer; of several, the first that is served is taken. A handshake without a subprotocol that is served is answered with <code>406</code> <a href="errors#invalid_header"><code>invalid_header</code></a>, one without a good session with <code>401</code> <a href="errors#authentication_required"><code>authentication_required</code></a>. Any <code>Origin</code> is accepted.</p>
<p><strong>The server sends nothing of its own before the client&#x27;s first packet, for two seconds.</strong> That packet decides: <code>Event.replay</code> replays from the time it names; anything else makes the socket live, from ten seconds before it was opened, but not from before its session was made. A socket whose client says nothing goes live by itself after two seconds; until its client&#x27;s first packet, its packets carry the time at which the session was made, or that at which the log begins if that is later.</p>
<h3 id="ws-envelope">Envelope <a class="anchor" href="#ws-envelope" aria-label="Link to this">#</a></h3>
<p>Every packet is one text frame with one JSON object, <code>type</code>, <code>body</code>, and from the server also <code>counter</code> and <code>timestamp</code>.</p>
<p><code>counter</code> is 0 for the first packet of a connection and one more for each packet after it, whatever its type. <code>timestamp</code> never goes back on a connection, and never lies after a change that is still owed to it: so whatever the last packet was, a replay from its timestamp misses nothing.</p>
<h3 id="ws-versions">Versions <a class="anchor" href="#ws-versions" aria-label="Link to this">#</a></h3>
<p>2.0 and 3.0 differ in the ids of message parts (index and UUID), and in how changed parts are told: to 3.0 as updates of the Message or the MessagePart, to 2.0 as a Message <code>create</code> with the whole new message, which clients merge by id.</p>
<h3 id="ws-limits">Limits <a class="anchor" href="#ws-limits" aria-label="Link to this">#</a></h3>
<p>A frame of the client&#x27;s may have 1 MB. At most 256 requests of a socket wait or are worked on; beyond that they are answered with <a href="errors#service_unavailable"><code>service_unavailable</code></a>. A <code>request_id</code> may have 256 bytes. Far more requests than an ordinary client sends are answered with <a href="errors#rate_limit_exceeded"><code>rate_limit_exceeded</code></a>, and signals are dropped; if it goes on, the socket is closed with 1008. The server pings every 40 seconds, and closes a socket from which nothing, not even a pong, came for 120.</p>
<h2 id="ws-requests">Requests <a class="anchor" href="#ws-requests" aria-label="Link to this">#</a></h2>
<section class="operation"><h3 id="op-counterRead" class="operation"><code>Counter.read</code> <a class="anchor" href="#op-counterRead" aria-label="Link to this">#</a></h3>
<p class="summary">Is anything missing?</p>
<p>Tells the counter of the last packet that was sent before this response, 0 if there was none. Also what a client sends when it has heard nothing for a while.</p>
<details><summary>Request</summary><pre class="json"><code>{ <span class="key">&quot;type&quot;</span>: <span class="str">&quot;request&quot;</span>, <span class="key">&quot;body&quot;</span>: {<span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r4&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Counter.read&quot;</span>} }</code></pre></details>
<details><summary>Response</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">12</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:40.001Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: { <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r4&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Counter.read&quot;</span>, <span class="key">&quot;success&quot;</span>: <span class="lit">true</span>, <span class="key">&quot;data&quot;</span>: {<span class="key">&quot;counter&quot;</span>: <span class="lit">11</span>} }
}</code></pre></details>
</section>
<section class="operation"><h3 id="op-eventReplay" class="operation"><code>Event.replay</code> <a class="anchor" href="#op-eventReplay" aria-label="Link to this">#</a></h3>
<p class="summary">Send everything again since a time</p>
<p>Every change for this user from <code>from_timestamp</code> on (the server goes back 30 seconds further) is sent again as ordinary packets, in order, with new counters and the times of the changes; then comes the response. Changes that are made meanwhile are part of it. What follows the response is live.</p>
<p><code>complete</code> is false if the log does not reach back that far: the client must load everything anew. An unsuccessful response means that nothing can be relied on; ask again after a pause. A second replay that is asked for while one runs takes its place, and the first is answered with <a href="errors#invalid_operation"><code>invalid_operation</code></a>.</p>
<p>Typing and presence are never replayed. An object that has been deleted since is replayed as its deletion only. During a replay, changes carry no message counts: they are told once for each conversation, as they are now, before the response.</p>
<div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>data.from_timestamp</code> <span class="required">required</span></td><td>string</td><td>ISO 8601: the <code>timestamp</code> of the last packet the client got, of whatever kind.</td></tr></tbody></table></div>
<details><summary>Request</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;request&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r1&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Event.replay&quot;</span>,
    <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;from_timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:10.480Z&quot;</span> }
  }
}</code></pre></details>
<details><summary>Response</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">31</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T10:02:00.310Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: { <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r1&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Event.replay&quot;</span>, <span class="key">&quot;success&quot;</span>: <span class="lit">true</span>, <span class="key">&quot;data&quot;</span>: {<span class="key">&quot;complete&quot;</span>: <span class="lit">true</span>} }
}</code></pre></details>
<details><summary>Refused</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">15</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:42.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r8&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Message.create&quot;</span>,
    <span class="key">&quot;success&quot;</span>: <span class="lit">false</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;missing_property&quot;</span>,
      <span class="key">&quot;code&quot;</span>: <span class="lit">104</span>,
      <span class="key">&quot;message&quot;</span>: <span class="str">&quot;The property parts is required.&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/docs/errors#missing_property&quot;</span>,
      <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;property&quot;</span>: <span class="str">&quot;parts&quot;</span> }
    }
  }
}</code></pre></details>
</section>
<section class="operation"><h3 id="op-conversationCreate" class="operation"><code>Conversation.create</code> <a class="anchor" href="#op-conversationCreate" aria-label="Link to this">#</a></h3>
<p class="summary">Create a conversation</p>
<p><code>data</code> is as for <code>POST /conversations</code>, and so are the rules. A distinct conversation that existed is a success with another id than the one sent. Creates of one socket are carried out one after the other, in the order in which they came.</p>
<div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code> <span class="required">required</span></td><td><a href="#schema-NewConversation">NewConversation</a></td><td></td></tr></tbody></table></div>
<details><summary>Request</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;request&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r5&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Conversation.create&quot;</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
      <span class="key">&quot;participants&quot;</span>: [<span class="str">&quot;layer:///identities/ben&quot;</span>],
      <span class="key">&quot;distinct&quot;</span>: <span class="lit">true</span>
    }
  }
}</code></pre></details>
<p class="label">Response <span><code>data</code> is <a href="#schema-Conversation">Conversation</a></span></p>
<details><summary>Refused</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">15</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:42.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r8&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Message.create&quot;</span>,
    <span class="key">&quot;success&quot;</span>: <span class="lit">false</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;missing_property&quot;</span>,
      <span class="key">&quot;code&quot;</span>: <span class="lit">104</span>,
      <span class="key">&quot;message&quot;</span>: <span class="str">&quot;The property parts is required.&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/docs/errors#missing_property&quot;</span>,
      <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;property&quot;</span>: <span class="str">&quot;parts&quot;</span> }
    }
  }
}</code></pre></details>
</section>
<section class="operation"><h3 id="op-messageCreate" class="operation"><code>Message.create</code> <a class="anchor" href="#op-messageCreate" aria-label="Link to this">#</a></h3>
<p class="summary">Send a message</p>
<p><code>object_id</code> names the conversation; <code>data</code> is as for <code>POST /conversations/{id}/messages</code>.</p>
<div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>object_id</code> <span class="required">required</span></td><td>string</td><td>The id of the conversation.</td></tr><tr><td><code>data</code> <span class="required">required</span></td><td><a href="#schema-NewMessage">NewMessage</a></td><td></td></tr></tbody></table></div>
<details><summary>Request</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;request&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r6&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Message.create&quot;</span>,
    <span class="key">&quot;object_id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
      <span class="key">&quot;parts&quot;</span>: [{<span class="key">&quot;mime_type&quot;</span>: <span class="str">&quot;text/plain&quot;</span>, <span class="key">&quot;body&quot;</span>: <span class="str">&quot;Train leaves at 8&quot;</span>}]
    }
  }
}</code></pre></details>
<p class="label">Response <span><code>data</code> is <a href="#schema-Message">Message</a></span></p>
<details><summary>Refused</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">15</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:42.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r8&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Message.create&quot;</span>,
    <span class="key">&quot;success&quot;</span>: <span class="lit">false</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;missing_property&quot;</span>,
      <span class="key">&quot;code&quot;</span>: <span class="lit">104</span>,
      <span class="key">&quot;message&quot;</span>: <span class="str">&quot;The property parts is required.&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/docs/errors#missing_property&quot;</span>,
      <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;property&quot;</span>: <span class="str">&quot;parts&quot;</span> }
    }
  }
}</code></pre></details>
</section>
<section class="operation"><h3 id="op-presenceSubscribe" class="operation"><code>Presence.subscribe</code> <a class="anchor" href="#op-presenceSubscribe" aria-label="Link to this">#</a></h3>
<p class="summary">Be told of presence</p>
<p>Of those the user follows, and his own, until the socket closes or <code>Presence.unsubscribe</code>. Nothing is sent at once; ask with <code>Presence.sync</code> how things are.</p>
<details><summary>Request</summary><pre class="json"><code>{ <span class="key">&quot;type&quot;</span>: <span class="str">&quot;request&quot;</span>, <span class="key">&quot;body&quot;</span>: {<span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r2&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.subscribe&quot;</span>} }</code></pre></details>
<details><summary>Response</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">2</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:09.100Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: { <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r2&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.subscribe&quot;</span>, <span class="key">&quot;success&quot;</span>: <span class="lit">true</span>, <span class="key">&quot;data&quot;</span>: {} }
}</code></pre></details>
<details><summary>Refused</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">15</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:42.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r8&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Message.create&quot;</span>,
    <span class="key">&quot;success&quot;</span>: <span class="lit">false</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;missing_property&quot;</span>,
      <span class="key">&quot;code&quot;</span>: <span class="lit">104</span>,
      <span class="key">&quot;message&quot;</span>: <span class="str">&quot;The property parts is required.&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/docs/errors#missing_property&quot;</span>,
      <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;property&quot;</span>: <span class="str">&quot;parts&quot;</span> }
    }
  }
}</code></pre></details>
</section>
<section class="operation"><h3 id="op-presenceUnsubscribe" class="operation"><code>Presence.unsubscribe</code> <a class="anchor" href="#op-presenceUnsubscribe" aria-label="Link to this">#</a></h3>
<p class="summary">Not any more</p>

<details><summary>Request</summary><pre class="json"><code>{ <span class="key">&quot;type&quot;</span>: <span class="str">&quot;request&quot;</span>, <span class="key">&quot;body&quot;</span>: {<span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r9&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.unsubscribe&quot;</span>} }</code></pre></details>
<details><summary>Response</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">2</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:09.100Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: { <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r2&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.subscribe&quot;</span>, <span class="key">&quot;success&quot;</span>: <span class="lit">true</span>, <span class="key">&quot;data&quot;</span>: {} }
}</code></pre></details>
</section>
<section class="operation"><h3 id="op-presenceUpdate" class="operation"><code>Presence.update</code> <a class="anchor" href="#op-presenceUpdate" aria-label="Link to this">#</a></h3>
<p class="summary">Set the own status</p>
<p>Of this connection; the user&#x27;s status is the best of his connections&#x27;. <code>auto</code> is the last status the user chose, or <code>available</code>. Others see <code>invisible</code> as <code>offline</code>. A status goes some 30 seconds after its connection.</p>
<div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code> <span class="required">required</span></td><td>array of object</td><td></td></tr></tbody></table></div>
<details><summary>Request</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;request&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r3&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.update&quot;</span>,
    <span class="key">&quot;data&quot;</span>: [{<span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;status&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;auto&quot;</span>}]
  }
}</code></pre></details>
<details><summary>Response</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">2</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:09.100Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: { <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r2&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.subscribe&quot;</span>, <span class="key">&quot;success&quot;</span>: <span class="lit">true</span>, <span class="key">&quot;data&quot;</span>: {} }
}</code></pre></details>
<details><summary>Refused</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">15</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:42.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r8&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Message.create&quot;</span>,
    <span class="key">&quot;success&quot;</span>: <span class="lit">false</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;missing_property&quot;</span>,
      <span class="key">&quot;code&quot;</span>: <span class="lit">104</span>,
      <span class="key">&quot;message&quot;</span>: <span class="str">&quot;The property parts is required.&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/docs/errors#missing_property&quot;</span>,
      <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;property&quot;</span>: <span class="str">&quot;parts&quot;</span> }
    }
  }
}</code></pre></details>
</section>
<section class="operation"><h3 id="op-presenceSync" class="operation"><code>Presence.sync</code> <a class="anchor" href="#op-presenceSync" aria-label="Link to this">#</a></h3>
<p class="summary">How is everybody?</p>
<p>The present status of certain users, at most 1000, or of those followed users whose status changed since a time. Always answered with <code>changes</code>, which may be empty.</p>
<div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code> <span class="required">required</span></td><td>object</td><td>One of the two.</td></tr><tr><td><code>data.ids</code></td><td>array of string</td><td>Identity ids.</td></tr><tr><td><code>data.since</code></td><td>string</td><td>ISO 8601.</td></tr></tbody></table></div>
<details><summary>Request</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;request&quot;</span>,
  <span class="key">&quot;body&quot;</span>: { <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r7&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.sync&quot;</span>, <span class="key">&quot;data&quot;</span>: {<span class="key">&quot;ids&quot;</span>: [<span class="str">&quot;layer:///identities/ben&quot;</span>]} }
}</code></pre></details>
<details><summary>Response</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">14</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:41.220Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r7&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.sync&quot;</span>,
    <span class="key">&quot;success&quot;</span>: <span class="lit">true</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;changes&quot;</span>: [
        {
          <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;update&quot;</span>,
          <span class="key">&quot;object&quot;</span>: {
            <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Identity&quot;</span>,
            <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
            <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>
          },
          <span class="key">&quot;data&quot;</span>: [
            { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;presence.status&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;away&quot;</span> },
            {
              <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>,
              <span class="key">&quot;property&quot;</span>: <span class="str">&quot;presence.last_seen_at&quot;</span>,
              <span class="key">&quot;value&quot;</span>: <span class="str">&quot;2018-05-04T09:20:00.000Z&quot;</span>
            }
          ]
        }
      ]
    }
  }
}</code></pre></details>
<details><summary>Refused</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">15</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:42.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r8&quot;</span>,
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Message.create&quot;</span>,
    <span class="key">&quot;success&quot;</span>: <span class="lit">false</span>,
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;missing_property&quot;</span>,
      <span class="key">&quot;code&quot;</span>: <span class="lit">104</span>,
      <span class="key">&quot;message&quot;</span>: <span class="str">&quot;The property parts is required.&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/docs/errors#missing_property&quot;</span>,
      <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;property&quot;</span>: <span class="str">&quot;parts&quot;</span> }
    }
  }
}</code></pre></details>
</section>
<section class="operation"><h3 id="op-typingSent" class="operation">Typing, from a client <a class="anchor" href="#op-typingSent" aria-label="Link to this">#</a></h3>
<p class="summary">The user types, pauses, or has finished</p>
<p>A signal, which needs no answer; with a <code>request_id</code> there is one. Only heard from participants, otherwise dropped. Repeat a state while it lasts, every 2.5 seconds or so: 10 seconds after the last <code>started</code> the server itself says <code>paused</code>, and 10 more later <code>finished</code>. Sending a message is <code>finished</code>.</p>
<div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>type</code> <span class="required">required</span></td><td><code>&quot;typing_indicator&quot;</code></td><td></td></tr><tr><td><code>request_id</code></td><td>string</td><td>If there, the signal is answered.</td></tr><tr><td><code>object</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>object.id</code> <span class="required">required</span></td><td>string</td><td>The id of the conversation.</td></tr><tr><td><code>data</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>data.action</code> <span class="required">required</span></td><td><a href="#schema-TypingAction">TypingAction</a></td><td></td></tr></tbody></table></div>
<details><summary>Request</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;signal&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;type&quot;</span>: <span class="str">&quot;typing_indicator&quot;</span>,
    <span class="key">&quot;object&quot;</span>: { <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span> },
    <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;action&quot;</span>: <span class="str">&quot;started&quot;</span> }
  }
}</code></pre></details>
<details><summary>Response</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;response&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">2</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:09.100Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: { <span class="key">&quot;request_id&quot;</span>: <span class="str">&quot;r2&quot;</span>, <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Presence.subscribe&quot;</span>, <span class="key">&quot;success&quot;</span>: <span class="lit">true</span>, <span class="key">&quot;data&quot;</span>: {} }
}</code></pre></details>
</section>
<h2 id="ws-changes">Changes <a class="anchor" href="#ws-changes" aria-label="Link to this">#</a></h2>
<p>What happened to the objects the user can see.</p>
<div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>create</code> | <code>update</code> | <code>delete</code></td><td></td></tr><tr><td><code>object</code> <span class="required">required</span></td><td><a href="#schema-ObjectReference">ObjectReference</a></td><td></td></tr><tr><td><code>position</code></td><td><a href="#schema-Position">Position</a></td><td></td></tr><tr><td><code>user_position</code></td><td>integer</td><td>Ours: the place of the change in the user&#x27;s own log. <span class="limits">at least 1</span></td></tr><tr><td><code>data</code> <span class="required">required</span></td><td>anything</td><td>The object, operations on it, or how it was deleted.</td></tr></tbody></table></div>
<section class="packet"><h3 id="packet-ConversationCreated">Conversation create <a class="anchor" href="#packet-ConversationCreated" aria-label="Link to this">#</a></h3><p>A conversation is new to the user, or was deleted from his devices and is back. <code>data</code> is the whole object.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td><a href="#schema-Conversation">Conversation</a></td><td></td></tr></tbody></table></div></section>
<section class="packet"><h3 id="packet-ConversationUpdated">Conversation update <a class="anchor" href="#packet-ConversationUpdated" aria-label="Link to this">#</a></h3><p>Participants, metadata, the last message, or the user&#x27;s counts. Operations that belong together come in one packet.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td>array of <a href="#schema-ConversationOperation">ConversationOperation</a></td><td></td></tr></tbody></table></div><details><summary>Example: metadata</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;change&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">9</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:31:10.480Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;update&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Conversation&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
    },
    <span class="key">&quot;position&quot;</span>: <span class="lit">7</span>,
    <span class="key">&quot;data&quot;</span>: [
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;metadata.trip.city&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;Porto&quot;</span> },
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;delete&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;metadata.trip.hotel&quot;</span> }
    ]
  }
}</code></pre></details><details><summary>Example: participants</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;change&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">10</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:32:00.020Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;update&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Conversation&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
    },
    <span class="key">&quot;position&quot;</span>: <span class="lit">8</span>,
    <span class="key">&quot;data&quot;</span>: [
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;remove&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;participants&quot;</span>, <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span> },
      {
        <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;add&quot;</span>,
        <span class="key">&quot;property&quot;</span>: <span class="str">&quot;participants&quot;</span>,
        <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/cleo&quot;</span>,
        <span class="key">&quot;value&quot;</span>: {
          <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/cleo&quot;</span>,
          <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/cleo&quot;</span>,
          <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;cleo&quot;</span>,
          <span class="key">&quot;display_name&quot;</span>: <span class="lit">null</span>,
          <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
        }
      },
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;distinct&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="lit">false</span> }
    ]
  }
}</code></pre></details></section>
<section class="packet"><h3 id="packet-ConversationDeleted">Conversation delete <a class="anchor" href="#packet-ConversationDeleted" aria-label="Link to this">#</a></h3><p>Gone for all, or from the user&#x27;s devices. With a <code>from_position</code> only the messages up to there go, and the conversation stays.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td>object</td><td></td></tr><tr><td><code>data.mode</code> <span class="required">required</span></td><td><code>all_participants</code> | <code>my_devices</code></td><td></td></tr><tr><td><code>data.from_position</code> <span class="required">required</span></td><td>integer or null</td><td>Null: the conversation goes. Otherwise a <code>position</code> of messages.</td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;change&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">11</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:33:00.700Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;delete&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Conversation&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
    },
    <span class="key">&quot;user_position&quot;</span>: <span class="lit">4</span>,
    <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;mode&quot;</span>: <span class="str">&quot;my_devices&quot;</span>, <span class="key">&quot;from_position&quot;</span>: <span class="lit">null</span> }
  }
}</code></pre></details></section>
<section class="packet"><h3 id="packet-MessageCreated">Message create <a class="anchor" href="#packet-MessageCreated" aria-label="Link to this">#</a></h3><p>A message is new, or, to 2.0, was changed. <code>notification</code> is there for those who have not read it.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td><a href="#schema-Message">Message</a></td><td></td></tr></tbody></table></div></section>
<section class="packet"><h3 id="packet-MessageUpdated">Message update <a class="anchor" href="#packet-MessageUpdated" aria-label="Link to this">#</a></h3><p>How far the message came with somebody, or (3.0) other parts. There is none for <code>is_unread</code>, which follows from the own status.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation</code></td><td><a href="#schema-ConversationName">ConversationName</a></td><td></td></tr><tr><td><code>data</code></td><td>array of <a href="#schema-MessageOperation">MessageOperation</a></td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;change&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">12</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:34:00.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;update&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Message&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>
    },
    <span class="key">&quot;position&quot;</span>: <span class="lit">9</span>,
    <span class="key">&quot;conversation&quot;</span>: { <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span> },
    <span class="key">&quot;data&quot;</span>: [
      {
        <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>,
        <span class="key">&quot;property&quot;</span>: <span class="str">&quot;recipient_status.layer:///identities/ben\\.okoye&quot;</span>,
        <span class="key">&quot;value&quot;</span>: <span class="str">&quot;read&quot;</span>
      }
    ]
  }
}</code></pre></details></section>
<section class="packet"><h3 id="packet-MessageDeleted">Message delete <a class="anchor" href="#packet-MessageDeleted" aria-label="Link to this">#</a></h3><p>For all, or from the user&#x27;s devices.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation</code></td><td><a href="#schema-ConversationName">ConversationName</a></td><td></td></tr><tr><td><code>data</code></td><td>object</td><td></td></tr><tr><td><code>data.mode</code> <span class="required">required</span></td><td><code>all_participants</code> | <code>my_devices</code></td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;change&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">13</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:35:00.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;delete&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Message&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10&quot;</span>
    },
    <span class="key">&quot;position&quot;</span>: <span class="lit">10</span>,
    <span class="key">&quot;conversation&quot;</span>: { <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span> },
    <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;mode&quot;</span>: <span class="str">&quot;all_participants&quot;</span> }
  }
}</code></pre></details></section>
<section class="packet"><h3 id="packet-MessagePartUpdated">MessagePart update <a class="anchor" href="#packet-MessagePartUpdated" aria-label="Link to this">#</a></h3><p>One part has other content, all of which is told. To 3.0 only. A Message update of <code>updated_at</code> follows.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>conversation</code></td><td><a href="#schema-ConversationName">ConversationName</a></td><td></td></tr><tr><td><code>data</code></td><td>array of <a href="#schema-PartOperation">PartOperation</a></td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;change&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">14</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T10:00:05.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;update&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;MessagePart&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d&quot;</span>
    },
    <span class="key">&quot;position&quot;</span>: <span class="lit">11</span>,
    <span class="key">&quot;conversation&quot;</span>: { <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span> },
    <span class="key">&quot;data&quot;</span>: [
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;mime_type&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;text/plain&quot;</span> },
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;body&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;Train leaves at 9&quot;</span> },
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;encoding&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="lit">null</span> },
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;content&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="lit">null</span> },
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;size&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="lit">17</span> },
      { <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;updated_at&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;2018-05-04T10:00:05.000Z&quot;</span> }
    ]
  }
}</code></pre></details></section>
<section class="packet"><h3 id="packet-IdentityCreated">Identity create <a class="anchor" href="#packet-IdentityCreated" aria-label="Link to this">#</a></h3><p>The user follows somebody, by another of his devices, or this one. Following that a new conversation implies is not announced.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td><a href="#schema-Identity">Identity</a></td><td></td></tr></tbody></table></div></section>
<section class="packet"><h3 id="packet-IdentityUpdated">Identity update <a class="anchor" href="#packet-IdentityUpdated" aria-label="Link to this">#</a></h3><p>The user himself, or somebody he follows, signed in with other details; or, to sockets that subscribed, presence.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td>array of <a href="#schema-IdentityOperation">IdentityOperation</a></td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;change&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">15</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T10:01:00.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;update&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Identity&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>
    },
    <span class="key">&quot;user_position&quot;</span>: <span class="lit">5</span>,
    <span class="key">&quot;data&quot;</span>: [{<span class="key">&quot;operation&quot;</span>: <span class="str">&quot;set&quot;</span>, <span class="key">&quot;property&quot;</span>: <span class="str">&quot;display_name&quot;</span>, <span class="key">&quot;value&quot;</span>: <span class="str">&quot;Ben O.&quot;</span>}]
  }
}</code></pre></details></section>
<section class="packet"><h3 id="packet-IdentityDeleted">Identity delete <a class="anchor" href="#packet-IdentityDeleted" aria-label="Link to this">#</a></h3><p>The user does not follow somebody any more.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td>null</td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;change&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">16</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T10:01:30.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;operation&quot;</span>: <span class="str">&quot;delete&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Identity&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ben&quot;</span>
    },
    <span class="key">&quot;user_position&quot;</span>: <span class="lit">6</span>,
    <span class="key">&quot;data&quot;</span>: <span class="lit">null</span>
  }
}</code></pre></details></section>
<section class="packet"><h3 id="packet-AnnouncementCreated">Announcement create <a class="anchor" href="#packet-AnnouncementCreated" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td><a href="#schema-Announcement">Announcement</a></td><td></td></tr></tbody></table></div></section>
<section class="packet"><h3 id="packet-AnnouncementUpdated">Announcement update <a class="anchor" href="#packet-AnnouncementUpdated" aria-label="Link to this">#</a></h3><p>The user has read it, or got it, on one of his devices.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td>array of <a href="#schema-StatusOperation">StatusOperation</a></td><td></td></tr></tbody></table></div></section>
<section class="packet"><h3 id="packet-AnnouncementDeleted">Announcement delete <a class="anchor" href="#packet-AnnouncementDeleted" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>data</code></td><td>object</td><td></td></tr><tr><td><code>data.mode</code> <span class="required">required</span></td><td><code>&quot;my_devices&quot;</code></td><td></td></tr></tbody></table></div></section>
<h2 id="ws-operations">Operations <a class="anchor" href="#ws-operations" aria-label="Link to this">#</a></h2>
<p>What happened to many objects at once.</p>
<section class="packet"><h3 id="packet-AllRead">Conversation.mark_all_read <a class="anchor" href="#packet-AllRead" aria-label="Link to this">#</a></h3><p><code>identity</code> has read every message of the conversation up to <code>data.position</code>, a position of messages. To the user himself a Conversation update with his count follows.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>method</code> <span class="required">required</span></td><td><code>&quot;Conversation.mark_all_read&quot;</code></td><td></td></tr><tr><td><code>object</code> <span class="required">required</span></td><td><a href="#schema-ObjectReference">ObjectReference</a></td><td></td></tr><tr><td><code>position</code> <span class="required">required</span></td><td><a href="#schema-Position">Position</a></td><td></td></tr><tr><td><code>data</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>data.position</code> <span class="required">required</span></td><td>integer</td><td></td></tr><tr><td><code>data.identity</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>data.identity.id</code> <span class="required">required</span></td><td>string</td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;operation&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">17</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:40:00.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;method&quot;</span>: <span class="str">&quot;Conversation.mark_all_read&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Conversation&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
    },
    <span class="key">&quot;position&quot;</span>: <span class="lit">12</span>,
    <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;position&quot;</span>: <span class="lit">81920</span>, <span class="key">&quot;identity&quot;</span>: {<span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ben&quot;</span>} }
  }
}</code></pre></details></section>
<h2 id="ws-signals">Signals <a class="anchor" href="#ws-signals" aria-label="Link to this">#</a></h2>
<p>What is never stored.</p>
<section class="packet"><h3 id="packet-Typing">typing_indicator <a class="anchor" href="#packet-Typing" aria-label="Link to this">#</a></h3><p>To all other participants who have a socket that keeps up. Never stored, never replayed.</p><div class="scroll"><table class="members"><thead><tr><th>Member of <code>body</code></th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>type</code> <span class="required">required</span></td><td><code>&quot;typing_indicator&quot;</code></td><td></td></tr><tr><td><code>object</code> <span class="required">required</span></td><td><a href="#schema-ObjectReference">ObjectReference</a></td><td></td></tr><tr><td><code>data</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>data.sender</code> <span class="required">required</span></td><td><a href="#schema-BasicIdentity">BasicIdentity</a></td><td></td></tr><tr><td><code>data.action</code> <span class="required">required</span></td><td><a href="#schema-TypingAction">TypingAction</a></td><td></td></tr></tbody></table></div><details><summary>Example</summary><pre class="json"><code>{
  <span class="key">&quot;type&quot;</span>: <span class="str">&quot;signal&quot;</span>,
  <span class="key">&quot;counter&quot;</span>: <span class="lit">18</span>,
  <span class="key">&quot;timestamp&quot;</span>: <span class="str">&quot;2018-05-04T09:41:00.000Z&quot;</span>,
  <span class="key">&quot;body&quot;</span>: {
    <span class="key">&quot;type&quot;</span>: <span class="str">&quot;typing_indicator&quot;</span>,
    <span class="key">&quot;object&quot;</span>: {
      <span class="key">&quot;type&quot;</span>: <span class="str">&quot;Conversation&quot;</span>,
      <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>,
      <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01&quot;</span>
    },
    <span class="key">&quot;data&quot;</span>: {
      <span class="key">&quot;sender&quot;</span>: {
        <span class="key">&quot;id&quot;</span>: <span class="str">&quot;layer:///identities/ana&quot;</span>,
        <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/identities/ana&quot;</span>,
        <span class="key">&quot;user_id&quot;</span>: <span class="str">&quot;ana&quot;</span>,
        <span class="key">&quot;display_name&quot;</span>: <span class="str">&quot;Ana Silva&quot;</span>,
        <span class="key">&quot;avatar_url&quot;</span>: <span class="lit">null</span>
      },
      <span class="key">&quot;action&quot;</span>: <span class="str">&quot;started&quot;</span>
    }
  }
}</code></pre></details></section>
<h2 id="ws-fan-out">Who is told what <a class="anchor" href="#ws-fan-out" aria-label="Link to this">#</a></h2>
<p>“Own” are all sockets of the user who acts, the one he acts on included; packets come in the order in which they stand here. What has no effect is told to nobody.</p>
<div class="scroll"><table class="wide"><thead><tr><th>What happens</th><th>Own sockets</th><th>Other participants</th></tr></thead><tbody><tr><td>A conversation is created</td><td>Conversation create</td><td>Conversation create</td></tr><tr><td>A distinct conversation is found</td><td>Nothing; Conversation create if the user had deleted it from his devices</td><td>Nothing</td></tr><tr><td>Participants are added or removed</td><td>Conversation update</td><td>Conversation update, also to those removed; to those added Conversation create</td></tr><tr><td>Metadata is patched</td><td>Conversation update, with what had an effect</td><td>The same</td></tr><tr><td>A conversation is deleted for all</td><td>Conversation delete</td><td>Conversation delete</td></tr><tr><td>A conversation is deleted from the own devices</td><td>Conversation delete</td><td>Nothing; with <code>leave</code>, Conversation update</td></tr><tr><td>A message is sent</td><td>Message create, Conversation update</td><td>Message create with <code>notification</code>, Conversation update</td></tr><tr><td>A conversation that was deleted from the own devices gets a message</td><td>Conversation create, Message create, Conversation update</td><td>As for any message</td></tr><tr><td>A message is delivered</td><td>Message update</td><td>Message update; in a large conversation, or where one kind is switched off, to the sender of the message only; none if this kind is</td></tr><tr><td>A message is read</td><td>Message update, Conversation update with <code>unread_message_count</code></td><td>Message update; in a large conversation, or where one kind is switched off, to the sender of the message only; none if this kind is</td></tr><tr><td>Everything is marked as read</td><td>The operation, Conversation update with <code>unread_message_count</code></td><td>The operation, under the same conditions, to the senders of what was read</td></tr><tr><td>A message is deleted for all</td><td>Message delete, Conversation update with counts and, if changed, <code>last_message</code></td><td>The same, with their own counts</td></tr><tr><td>A message is deleted from the own devices</td><td>Message delete, Conversation update</td><td>Nothing</td></tr><tr><td>Parts of a message are changed</td><td>MessagePart update of each that was, Message update; to 2.0 Message create</td><td>The same</td></tr><tr><td>Somebody types</td><td>Nothing</td><td>Signal</td></tr><tr><td>An identity changes</td><td>Identity update</td><td>Identity update, to those who follow him</td></tr><tr><td>Somebody is followed or unfollowed</td><td>Identity create or delete</td><td>Nothing</td></tr><tr><td>Presence changes</td><td>Identity update, to subscribed sockets</td><td>Identity update, to subscribed sockets of those who follow him</td></tr><tr><td>An announcement is sent</td><td>Announcement create</td><td>Nothing</td></tr><tr><td>An announcement is read or removed</td><td>Announcement update or delete</td><td>Nothing</td></tr></tbody></table></div>
<h2 id="ws-ordering">Order <a class="anchor" href="#ws-ordering" aria-label="Link to this">#</a></h2>
<ul><li>The <code>create</code> of an object comes before any <code>update</code> of it.</li><li>The Message <code>create</code> comes before the Conversation <code>update</code> that names the message as <code>last_message</code>.</li><li>Changes of one conversation come in the order in which they were committed, by <code>position</code>; its messages in theirs.</li><li>The response to a create comes before the change it caused, on the connection that asked.</li><li>Replayed packets come before the response to the replay.</li><li>Between one replay and the next, no change of a conversation comes twice.</li><li>Nothing is promised about the order between different conversations, or between packets and answers over REST.</li></ul>
<h2 id="ws-closing">Close codes <a class="anchor" href="#ws-closing" aria-label="Link to this">#</a></h2>
<p>A close frame also says why in words, of at most 123 bytes. They are for people who look for a mistake; a client goes by the code.</p>
<div class="scroll"><table class=""><thead><tr><th>Code</th><th>What happened</th><th>What to do</th></tr></thead><tbody><tr><td><code>1000</code></td><td>The client closed the socket.</td><td></td></tr><tr><td><code>1001</code></td><td>The gateway restarts, the database has been put back to an older state, or the user was removed from a conversation before its counts were known.</td><td>Come back, and replay.</td></tr><tr><td><code>1002</code></td><td>What came was no WebSocket frame.</td><td>A mistake in the client.</td></tr><tr><td><code>1003</code></td><td>A frame could not be read: binary, no JSON, an unknown <code>type</code>, a request without <code>request_id</code>. A signal of an unknown type, or with an unknown action, is dropped instead.</td><td>A mistake in the client.</td></tr><tr><td><code>1008</code></td><td>The client went on sending far more than it may.</td><td>Look for a loop in the client.</td></tr><tr><td><code>1009</code></td><td>A frame was larger than 1 MB.</td><td>A mistake in the client.</td></tr><tr><td><code>1013</code></td><td>The client did not read, and too much waited for it; or its replay failed, and it did not ask again within 30 seconds; or there are more changes than a replay can bring.</td><td>Come back, and replay.</td></tr><tr><td><code>4401</code></td><td>The session has ended: signed out, expired, or the user was suspended.</td><td>Sign in again; <code>GET /</code> with the old session answers <code>401</code> with a nonce.</td></tr><tr><td><code>4408</code></td><td>Nothing was heard of the client for 120 seconds.</td><td>Come back, and replay.</td></tr></tbody></table></div>
<h2 id="ws-schemas">Pieces of packets <a class="anchor" href="#ws-schemas" aria-label="Link to this">#</a></h2>
<section class="schema"><h3 id="schema-Counter">Counter <a class="anchor" href="#schema-Counter" aria-label="Link to this">#</a></h3><p>0, 1, 2, … on each connection.</p><p class="option">integer</p></section>
<section class="schema"><h3 id="schema-Position">Position <a class="anchor" href="#schema-Position" aria-label="Link to this">#</a></h3><p>Ours: the place of the change in the order of its conversation.</p><p class="option">integer <span class=limits>at least 1</span></p></section>
<section class="schema"><h3 id="schema-TypingAction">TypingAction <a class="anchor" href="#schema-TypingAction" aria-label="Link to this">#</a></h3><p class="option"><code>started</code> | <code>paused</code> | <code>finished</code></p></section>
<section class="schema"><h3 id="schema-Request">Request <a class="anchor" href="#schema-Request" aria-label="Link to this">#</a></h3><p>What a client asks for. Every request gets exactly one response.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>type</code> <span class="required">required</span></td><td><code>&quot;request&quot;</code></td><td></td></tr><tr><td><code>body</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>body.request_id</code> <span class="required">required</span></td><td>string</td><td>Any text; comes back in the response.</td></tr><tr><td><code>body.method</code> <span class="required">required</span></td><td><code>Counter.read</code> | <code>Event.replay</code> | <code>Conversation.create</code> | <code>Message.create</code> | <code>Presence.subscribe</code> | <code>Presence.unsubscribe</code> | <code>Presence.update</code> | <code>Presence.sync</code></td><td></td></tr><tr><td><code>body.object_id</code></td><td>string</td><td>What it is about, where the method says so.</td></tr><tr><td><code>body.data</code></td><td>anything</td><td>What belongs to the method.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-Success">Success <a class="anchor" href="#schema-Success" aria-label="Link to this">#</a></h3><p>The response to a request that was carried out.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>type</code> <span class="required">required</span></td><td><code>&quot;response&quot;</code></td><td></td></tr><tr><td><code>counter</code> <span class="required">required</span></td><td><a href="#schema-Counter">Counter</a></td><td></td></tr><tr><td><code>timestamp</code> <span class="required">required</span></td><td><a href="#schema-Timestamp">Timestamp</a></td><td></td></tr><tr><td><code>body</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>body.request_id</code> <span class="required">required</span></td><td>string</td><td>That of the request.</td></tr><tr><td><code>body.method</code> <span class="required">required</span></td><td>string</td><td>That of the request.</td></tr><tr><td><code>body.success</code> <span class="required">required</span></td><td><code>true</code></td><td></td></tr><tr><td><code>body.data</code> <span class="required">required</span></td><td>object</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-ObjectReference">ObjectReference <a class="anchor" href="#schema-ObjectReference" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>type</code> <span class="required">required</span></td><td><code>Conversation</code> | <code>Message</code> | <code>MessagePart</code> | <code>Identity</code> | <code>Announcement</code></td><td></td></tr><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td></td></tr><tr><td><code>url</code> <span class="required">required</span></td><td>string</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-ConversationName">ConversationName <a class="anchor" href="#schema-ConversationName" aria-label="Link to this">#</a></h3><p>Ours: the conversation the message belongs to.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-Change">Change <a class="anchor" href="#schema-Change" aria-label="Link to this">#</a></h3><p>Tells that an object was created, updated or deleted. <code>position</code> is there if the change belongs to a conversation, <code>user_position</code> if it belongs to the user alone; presence has neither.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>type</code> <span class="required">required</span></td><td><code>&quot;change&quot;</code></td><td></td></tr><tr><td><code>counter</code> <span class="required">required</span></td><td><a href="#schema-Counter">Counter</a></td><td></td></tr><tr><td><code>timestamp</code> <span class="required">required</span></td><td><a href="#schema-Timestamp">Timestamp</a></td><td></td></tr><tr><td><code>body</code> <span class="required">required</span></td><td>object</td><td></td></tr><tr><td><code>body.operation</code> <span class="required">required</span></td><td><code>create</code> | <code>update</code> | <code>delete</code></td><td></td></tr><tr><td><code>body.object</code> <span class="required">required</span></td><td><a href="#schema-ObjectReference">ObjectReference</a></td><td></td></tr><tr><td><code>body.position</code></td><td><a href="#schema-Position">Position</a></td><td></td></tr><tr><td><code>body.user_position</code></td><td>integer</td><td>Ours: the place of the change in the user&#x27;s own log. <span class="limits">at least 1</span></td></tr><tr><td><code>body.data</code> <span class="required">required</span></td><td>anything</td><td>The object, operations on it, or how it was deleted.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-ConversationOperation">ConversationOperation <a class="anchor" href="#schema-ConversationOperation" aria-label="Link to this">#</a></h3><p>What an update of a conversation consists of.</p><p class="option">a participant left or was removed</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;remove&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;participants&quot;</code></td><td></td></tr><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td></td></tr></tbody></table></div><p class="option">a participant came</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;add&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;participants&quot;</code></td><td></td></tr><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td><a href="#schema-BasicIdentity">BasicIdentity</a></td><td></td></tr></tbody></table></div><p class="option">a key of the metadata was set</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^metadata\.</code></span></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>string</td><td></td></tr></tbody></table></div><p class="option">a key of the metadata, and all below it, was deleted</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;delete&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^metadata\.</code></span></td></tr></tbody></table></div><p class="option">the metadata was emptied</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;metadata&quot;</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>object</td><td></td></tr></tbody></table></div><p class="option">not distinct any more</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;distinct&quot;</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td><code>false</code></td><td></td></tr></tbody></table></div><p class="option">another last message</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;last_message&quot;</code></td><td></td></tr><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td><a href="#schema-Message">Message</a></td><td></td></tr></tbody></table></div><p class="option">no message any more</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;last_message&quot;</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>null</td><td></td></tr></tbody></table></div><p class="option">the user&#x27;s counts</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>unread_message_count</code> | <code>total_message_count</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>integer</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-StatusOperation">StatusOperation <a class="anchor" href="#schema-StatusOperation" aria-label="Link to this">#</a></h3><p><code>recipient_status.</code> and an identity id, in which dots and backslashes are escaped with a backslash.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td>string</td><td> <span class="limits"><code>^recipient_status\.layer:///identities/.+$</code></span></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td><code>sent</code> | <code>delivered</code> | <code>read</code></td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-MessageOperation">MessageOperation <a class="anchor" href="#schema-MessageOperation" aria-label="Link to this">#</a></h3><p>What an update of a message consists of.</p><p class="option"><a href="#schema-StatusOperation">StatusOperation</a></p><p class="option">a part came</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;add&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;parts&quot;</code></td><td></td></tr><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td><a href="#schema-MessagePart">MessagePart</a></td><td></td></tr></tbody></table></div><p class="option">a part was removed</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;remove&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;parts&quot;</code></td><td></td></tr><tr><td><code>id</code> <span class="required">required</span></td><td>string</td><td></td></tr></tbody></table></div><p class="option">all parts were replaced</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;parts&quot;</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>array of <a href="#schema-MessagePart">MessagePart</a></td><td></td></tr></tbody></table></div><p class="option">when</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;updated_at&quot;</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>string</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-PartOperation">PartOperation <a class="anchor" href="#schema-PartOperation" aria-label="Link to this">#</a></h3><p>What an update of a part consists of. Null: it has none any more.</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>body</code> | <code>mime_type</code> | <code>encoding</code> | <code>content</code> | <code>size</code> | <code>updated_at</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>anything</td><td></td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-PresenceOperation">PresenceOperation <a class="anchor" href="#schema-PresenceOperation" aria-label="Link to this">#</a></h3><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>presence.status</code> | <code>presence.last_seen_at</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>string or null</td><td>A status, or a time.</td></tr></tbody></table></div></section>
<section class="schema"><h3 id="schema-IdentityOperation">IdentityOperation <a class="anchor" href="#schema-IdentityOperation" aria-label="Link to this">#</a></h3><p>What an update of an identity consists of.</p><p class="option">a detail</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>display_name</code> | <code>avatar_url</code> | <code>first_name</code> | <code>last_name</code> | <code>phone_number</code> | <code>email_address</code> | <code>public_key</code> | <code>type</code> | <code>identity_type</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>string or null</td><td></td></tr></tbody></table></div><p class="option">all metadata</p><div class="scroll"><table class="members"><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead><tbody><tr><td><code>operation</code> <span class="required">required</span></td><td><code>&quot;set&quot;</code></td><td></td></tr><tr><td><code>property</code> <span class="required">required</span></td><td><code>&quot;metadata&quot;</code></td><td></td></tr><tr><td><code>value</code> <span class="required">required</span></td><td>object of string</td><td></td></tr></tbody></table></div><p class="option"><a href="#schema-PresenceOperation">PresenceOperation</a></p></section>
<h1 id="sync">Our own members, and how to sync exactly <a class="anchor" href="#sync" aria-label="Link to this">#</a></h1><p>Strata speaks the Layer Client API; <a href="openapi.yaml">openapi.yaml</a> and <a href="asyncapi.yaml">asyncapi.yaml</a> describe it, and a running gateway serves both as a page under <code>/docs/</code>. A client that was written for that API needs nothing of what follows. This is for authors of clients that want to hold <strong>exactly</strong> what the server holds, after any loss of connection, without loading everything anew.</p>
<h2 id="sync-what-strata-adds">What Strata adds <a class="anchor" href="#sync-what-strata-adds" aria-label="Link to this">#</a></h2>
<p>Clients that do not know these members ignore them.</p>
<div class="scroll"><table class=""><thead><tr><th>Member</th><th>Where</th><th>What it says</th></tr></thead><tbody><tr><td><code>position</code></td><td>Conversation objects</td><td>the object contains every change of the conversation up to this one</td></tr><tr><td><code>epoch</code></td><td>Conversation objects</td><td>opaque; another one means that the database was restored to an older state, or that a replica took its place</td></tr><tr><td><code>delivery_receipts</code>, <code>read_receipts</code></td><td>Conversation objects; data of a create</td><td>whether others are told of deliveries, and of reading. Both true unless the create says otherwise; never changed afterwards</td></tr><tr><td><code>body.position</code></td><td>change and operation packets about a conversation or its messages</td><td>the change that the packet tells of</td></tr><tr><td><code>body.user_position</code></td><td>change packets that belong to the user alone</td><td>the same, in the user&#x27;s own log</td></tr><tr><td><code>body.conversation.id</code></td><td>Message <code>update</code> and <code>delete</code>, MessagePart <code>update</code></td><td>the conversation the message belongs to</td></tr><tr><td><code>data.complete</code></td><td>the response to <code>Event.replay</code></td><td>whether the log reached back as far as was asked</td></tr></tbody></table></div>
<p><strong>Positions.</strong> Every durable change of a conversation (its creation, participants, metadata, a message, receipts, a deletion) has the next position of that conversation: 1, 2, 3, without gaps, in the order in which they were committed. A client does not see all of them: some are not for it (receipts in a large conversation, for example). So <em>smaller</em> and <em>larger</em> mean something, and <em>missing</em> does not. One change may be told in several packets, which then have the same position. The <code>position</code> of a message is that of the change that made it, times 8192.</p>
<p><strong>The user&#x27;s own log</strong> has positions of its own: deletions from the own devices (<code>mode: my_devices</code>) and what comes back after one, changed identities, following and unfollowing, announcements. Presence and typing have no position of any kind; they are not durable.</p>
<h2 id="sync-what-a-client-keeps">What a client keeps <a class="anchor" href="#sync-what-a-client-keeps" aria-label="Link to this">#</a></h2>
<ul><li>for each conversation: the object, and <strong>A</strong>, the position up to which it is applied;</li><li>for each message: the object. The ids of deleted messages are to be remembered as long as a list that was asked for before the deletion may still arrive;</li><li>of the connection: the <code>counter</code> and the <code>timestamp</code> of the last packet;</li><li>the <code>epoch</code>; and U, the <code>user_position</code> of the last packet that had one.</li></ul>
<p>What is on disk must be consistent: write the timestamp together with, or after, what the packets up to it did, never before.</p>
<h2 id="sync-first-load">First load <a class="anchor" href="#sync-first-load" aria-label="Link to this">#</a></h2>
<ol><li>Open the socket and send any request but <code>Event.replay</code>: <code>Presence.subscribe</code>, or <code>Counter.read</code>. Until its first packet, a socket is sent nothing for two seconds.</li><li>When the response is there, load lists over REST: <code>GET /conversations?sort_by=created_at</code>, page by page (this order does not change meanwhile), <code>GET /identities</code>, <code>GET /announcements</code>, messages where you need them.</li><li>Apply packets from the beginning. While a load is under way, remember the packets that come; when its answer is there, put its objects in place and <strong>apply the remembered packets about them again</strong>, in order, by the rules below.</li></ol>
<p>Open first, then load: everything that is committed after the socket was opened reaches it, and everything before is in what was loaded. (The server goes back ten seconds further than the opening, but not before the session was made, because stock clients load their lists first. A client that does that, too, and took longer, sends <code>Event.replay</code> from the time at which the load began. One that signs in, loads and opens in this order is not told of a change that began before the sign-in and took longer to commit than sign-in and load together. A client that opens first misses nothing.)</p>
<p>A socket whose client asks for nothing goes live by itself after two seconds. Until its first request its packets carry the time at which the session was made or, if the log begins later, that of its beginning: so a replay from the timestamp of any of them brings everything that happened since.</p>
<h2 id="sync-applying-packets">Applying packets <a class="anchor" href="#sync-applying-packets" aria-label="Link to this">#</a></h2>
<p><strong>Conversation <code>create</code></strong>: the object in <code>data</code> replaces the one you have; A becomes <code>data.position</code>. That may be later than <code>body.position</code>: the object is shown as it is now. What follows up to <code>data.position</code> is contained in it as far as participants and metadata are concerned, and is not sent, except that users were added, you among them; messages and receipts are sent.</p>
<p><strong>Conversation <code>update</code></strong>, by operation:</p>
<div class="scroll"><table class=""><thead><tr><th>Operations on</th><th>Rule</th></tr></thead><tbody><tr><td><code>participants</code>, <code>metadata…</code>, <code>distinct</code></td><td>skip if <code>body.position</code> &lt; A: contained already. Otherwise apply</td></tr><tr><td><code>last_message</code>, <code>unread_message_count</code>, <code>total_message_count</code></td><td>always apply, in the order of arrival; the values are absolute</td></tr></tbody></table></div>
<p>Afterwards A becomes <code>body.position</code>, if that is larger. A packet with <code>body.position</code> equal to A is applied: it may be the next of the same change, and all operations can be repeated. Operations of a packet with a <code>user_position</code> are always applied. An <code>update</code> of a conversation you do not have: <code>GET</code> it.</p>
<ul><li><code>remove participants</code> with your own id: you are out. Set <code>participants</code> to <code>[]</code>, keep what you have, the counts too: <code>unread_message_count</code> stays what you had not read, and the messages say the same. Nothing more will come until you are added again, which is a Conversation <code>create</code>.</li><li><code>delete metadata.a</code> removes everything below <code>a</code>, too. The server does not keep empty objects: when the last key of an object goes, the deletion of the highest object emptied by it is what you are told.</li><li>The keys of metadata are those of your own objects only: do not walk by <code>__proto__</code>, <code>constructor</code> or <code>prototype</code> into what your language&#x27;s objects inherit. The server refuses to set such keys (<code>422</code>), and relays those that were stored before it did.</li><li><code>set last_message</code> has the <code>id</code> and, in <code>value</code>, the whole message.</li></ul>
<p><strong>Conversation <code>delete</code></strong>: with <code>from_position: null</code> the conversation goes, and its messages. With a number, the messages whose <code>position</code> is at most that go, and the conversation stays.</p>
<p><strong>Message <code>create</code></strong>: if you have the message, take the newer of each: statuses only move <code>sent</code> → <code>delivered</code> → <code>read</code>; parts are those with the later <code>updated_at</code> (null is the earliest). If you have deleted it, ignore it. To 2.0 sockets this is also how changed parts are told.</p>
<p><strong>Message <code>update</code></strong>: <code>recipient_status.&lt;id&gt;</code> only moves forward, so a late one changes nothing. <code>is_unread</code> has no operation: it is whether your own status is short of <code>read</code>. Parts: apply, unless the <code>updated_at</code> that comes with it is not later than yours. For a message you do not have: ignore it.</p>
<p><strong>MessagePart <code>update</code></strong>: says all members of the part; null means that it has none. Apply it unless its <code>updated_at</code> is earlier than the part&#x27;s. The message&#x27;s own <code>updated_at</code> follows in a Message <code>update</code>.</p>
<p><strong><code>last_message</code> is a message like any other.</strong> What happens to that message (its status, its parts) happens to the conversation&#x27;s <code>last_message</code> too; no packet tells it again.</p>
<p><strong>Message <code>delete</code></strong>: it goes. The counts and <code>last_message</code> follow in a Conversation <code>update</code>.</p>
<p><strong><code>Conversation.mark_all_read</code></strong>: for every message of the conversation whose <code>position</code> is at most <code>data.position</code> and which <code>data.identity</code> did not send: his status becomes <code>read</code>. If you are that user, your count follows.</p>
<p><strong>Identity, Announcement</strong>: apply; <code>set</code> says the whole value. Skip a packet whose <code>user_position</code> is smaller than U.</p>
<p><strong>A user is added</strong>, for the first time or again: they count as having read everything before, in their own counts and in the statuses that others are shown. No packet tells that for each old message. On <code>add participants</code> set their status to <code>read</code> in all messages you have of that conversation whose <code>position</code> is smaller than <code>body.position</code> × 8192; a message loaded later has it already. That holds also for an <code>add participants</code> that the conversation you were shown contains already (<code>body.position</code> &lt; A): it is sent for this reason alone. A user who is removed stays in the <code>recipient_status</code> of what came before, with the status they had.</p>
<h2 id="sync-while-connected">While connected <a class="anchor" href="#sync-while-connected" aria-label="Link to this">#</a></h2>
<p>Packets of one connection are counted from 0, and those of one conversation come in order, each change once. A counter other than the last plus one cannot happen on a connection that works; if it does, ask for a replay from the last timestamp. If you heard nothing for 30 seconds, <code>Counter.read</code> tells how many packets there should have been; if no response comes either, open another connection.</p>
<p><strong>Counts.</strong> <code>unread_message_count</code> and <code>total_message_count</code> come with the change that altered them, and are what they are after that change. A change that the server had to read from its log, since it was lost on the way, is told without the counts that are not known then. When all that was missing has been told, a Conversation <code>update</code> with both counts, as they are after the last change told, follows for each conversation of which this socket was told such a change. Until then the packets of that socket carry no later time than the first of these changes, so that a client that is cut off replays them. The socket of a user who is removed before the counts are known may be closed with 1001: its client comes back and replays.</p>
<p>A signal that the server does not know, by its type or its action, is dropped, so that a newer client can talk to an older server. What cannot be read at all closes the socket; every close frame of the server says why, by its code and in words for people.</p>
<p>An answer to a REST request may come before or after the packets about it. The response to a create over the socket always comes before its change, on that socket.</p>
<h2 id="sync-coming-back">Coming back <a class="anchor" href="#sync-coming-back" aria-label="Link to this">#</a></h2>
<ol><li>Open a socket. Its <strong>first</strong> request must be <code>Event.replay</code> with <code>from_timestamp</code> = the <code>timestamp</code> of the last packet of the connection before, of whatever type, or of the connection before that if there was none. (A packet is never stamped later than a change that is still owed to its connection, so no time is too late; the server adds a margin of 30 seconds, so none is too early.)</li><li>Apply what comes by the rules above. The first of it will be duplicates, and so may be anything later; that is what A is for.</li><li><strong><code>success: true</code>, <code>complete: true</code></strong>: you have everything, and what follows is live.<br><strong><code>complete: false</code></strong>: the log does not reach back so far (it is kept for 30 days unless the operator set something else, and never less than 48 hours). Forget everything and load as for the first time.<br><strong><code>success: false</code></strong>: nothing is certain, and nothing live comes until a replay has succeeded. Ask again, with the same time, after a pause of less than 30 seconds. A client that does not ask again within 30 seconds is closed with 1013: no socket stays open and is told nothing. The same code ends a replay of more changes than one can bring (a million): replay from the time of the last packet you got, which brings the rest, and load the conversations anew for their counts. Whenever a connection ends before its replay was answered, begin anew with the same time. That of the last packet you got brings all changes, too, but not the counts of conversations that the broken replay had told of long before it.</li><li>Load one conversation (<code>GET /conversations?page_size=1</code>) and compare its <code>epoch</code> with yours. Another one: the database was restored, the positions you hold may mean other changes, and what you have may have never happened. Forget everything and load as for the first time. The same whenever a loaded or created conversation has another epoch. Sockets that are open when the database is put back are closed with 1001, so that every client comes here: within about 20 seconds of the moment at which the database is there again. A planned failover that lost nothing looks the same to a client, and costs it one load.</li><li><code>Presence.subscribe</code> and <code>Presence.update</code> again: presence belongs to a connection. <code>Presence.sync</code> with <code>since</code> tells who changed meanwhile.</li><li>Send unanswered creates again, with the same ids. <a href="errors#id_in_use"><code>id_in_use</code></a> with the object in <code>data</code> means that they had arrived.</li></ol>
<p>Do not ask for two replays at once: the later one takes the place of the earlier, which is answered with <a href="errors#invalid_operation"><code>invalid_operation</code></a>.</p>
<p>What a replay looks like:</p>
<ul><li>Packets are the same as live ones, with new counters. Their timestamps are those of the changes, never earlier than the packet before.</li><li>Of a user who was followed and unfollowed since then, or the other way round, what does not hold now is not told. What holds is told once, at the place of the last of these changes; a long replay may tell it more than once.</li><li>A conversation that came into being, or that you were added to, since then is a Conversation <code>create</code> with the object as it is <strong>now</strong>.</li><li>Messages are as they are now, with today&#x27;s statuses and parts. A message or conversation that has been deleted since is told as its deletion only.</li><li>Changes carry no counts. Before the response, each conversation whose counts may have changed gets one Conversation <code>update</code> with both, as they are now.</li><li>Deleted from your devices and brought back by a later message since then: Conversation <code>delete</code> with a <code>from_position</code>, then what is newer. Live, the same is a Conversation <code>delete</code> without, and later a Conversation <code>create</code>, the Message <code>create</code> and the Conversation <code>update</code>.</li><li><strong>A conversation that the server cannot show at present</strong>, because it is larger than the server can handle, is left out: of lists, which then hold fewer objects than <code>Layer-Count</code> says, and of replays. Asked for by its id it is <a href="errors#internal_server_error"><code>internal_server_error</code></a>. Nothing of it is told on a socket that would have to be sent its <code>create</code> first. As soon as it can be shown, that socket is sent the <code>create</code>; a client that has connected again meanwhile finds it in its lists.</li><li><strong>Typing and presence are never replayed.</strong> On a new connection nobody types until you hear of it.</li></ul>
<h2 id="sync-typing">Typing <a class="anchor" href="#sync-typing" aria-label="Link to this">#</a></h2>
<p>A <code>started</code> that is not renewed becomes <code>paused</code> after 10 seconds and <code>finished</code> after 10 more, told by the server, whatever has died meanwhile. Signals may be dropped for a socket that does not keep up, so take off by yourself whoever you have heard nothing of for 25 seconds, and everybody when the connection is lost. A renewed state is told to others at most every 2.5 seconds. An operator may set other periods (<code>STRATA_TYPING_PAUSE</code>, <code>STRATA_TYPING_FINISH</code>, <code>STRATA_TYPING_REPEAT</code>): then it is both periods, the time between repetitions, and 2.5 seconds more, and gateways know it from the signals.</p>
<p>A message ends its sender&#x27;s typing: <code>finished</code> is told at once, whichever session of the sender sent it, through whichever gateway, over REST or a socket.</p>
<h2 id="sync-presence">Presence <a class="anchor" href="#sync-presence" aria-label="Link to this">#</a></h2>
<p>A status belongs to a connection; a user&#x27;s status is the best of those of their connections. Followers are told that a user is <code>offline</code></p>
<ul><li>within 30 seconds of the end of the user&#x27;s last connection, or of the death of its gateway: a status outlasts its connection by 25 seconds, so that a short loss of the network is not told, and a gateway that does not renew it for 27 seconds loses it;</li><li>within 150 seconds of the moment when a peer fell silent whose connection stays open: it is closed after 120 seconds in which nothing came, not even the answer to a ping.</li></ul>
<p>That holds while Redis answers, and with the default periods (<code>STRATA_PRESENCE_LEASE</code>, <code>STRATA_PRESENCE_GRACE</code>, <code>STRATA_PRESENCE_SWEEP</code>). With others it is the longer one of the lease and the grace, and one and a quarter of the sweep&#x27;s pause; for a silent peer two minutes more. Like all packets about presence, it is told to the sockets that are open then and keep up; <code>Presence.sync</code> tells the others.</p>
<h2 id="sync-receipts">Receipts <a class="anchor" href="#sync-receipts" aria-label="Link to this">#</a></h2>
<ul><li>They may be told late, and several together: receipts of several users or messages that come within a moment are one change.</li><li>In a <strong>large conversation</strong>, more than 25 participants unless the operator set something else, a receipt is told to the sender of the message and to the reader himself only, and everybody but the sender of a message is shown no more than the sender&#x27;s status and his own. So the same message has a different <code>recipient_status</code> for each of them; do not copy it between users. Whether a conversation is large is decided anew whenever a message is shown: when it shrinks, statuses appear as messages are loaded, not by packets.</li><li>With <strong><code>delivery_receipts</code> or <code>read_receipts</code> off</strong>, that kind of receipt counts for the reader alone: his own unread count and his own status. Others see as if it had not been given: who has read is shown to the sender as <code>delivered</code> where deliveries are told and his had been, otherwise as <code>sent</code>. The other kind, where that is on, is told as in a large conversation.</li></ul>
<h2 id="sync-deleting-from-the-own-devices">Deleting from the own devices <a class="anchor" href="#sync-deleting-from-the-own-devices" aria-label="Link to this">#</a></h2>
<p><code>DELETE /conversations/:id?mode=my_devices</code> hides the conversation and all messages so far; you stay a participant, and are told nothing more of what others do in it (metadata, participants, receipts), until a message brings it back. It then is a new object as far as a client is concerned: it comes whole, with <code>total_message_count</code> and the list of messages counting only what is newer. With <code>leave=true</code> the others are told that you left. Such deletions are entries of the user&#x27;s own log: all his devices are told, with a <code>user_position</code>.</p>
<h2 id="sync-what-is-promised">What is promised <a class="anchor" href="#sync-what-is-promised" aria-label="Link to this">#</a></h2>
<ol><li>What was answered with success was committed.</li><li>Within a conversation there is one order, and every client is told of changes in that order.</li><li>A client that stays connected, or comes back within the time the log is kept, and follows these rules, ends with exactly the objects that it would get by loading everything.</li><li>Over replays a change may be told again; between them it is told once.</li></ol></main></div>
</body>
</html>

"""##
    static let indexFile = File(indexText, contentType: "text/html; charset=utf-8", entityTag: "\"212cbaf5a8ebdf82\"")

    static let errorsText: StaticString = ##"""
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Errors · Strata Client API</title>
<style>
:root{color-scheme:light dark;--bg:#fff;--fg:#1d2330;--soft:#5b6577;--line:#e3e7ee;--panel:#f6f7fa;--accent:#0b62c4;--key:#7a3e9d;--str:#0b6b3a;--lit:#9a4b00;
--get:#0b6b3a;--post:#0b62c4;--put:#8a5a00;--patch:#7a3e9d;--delete:#b3261e;--required:#b3261e}
@media(prefers-color-scheme:dark){:root{--bg:#12151b;--fg:#dfe4ee;--soft:#98a3b7;--line:#2a303c;--panel:#1a1f28;--accent:#79b4ff;--key:#d3a6f5;--str:#86d9a5;--lit:#f0b070;
--get:#86d9a5;--post:#79b4ff;--put:#e8c06a;--patch:#d3a6f5;--delete:#ff8f85;--required:#ff8f85}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:break-word}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.frame{display:grid;grid-template-columns:19rem minmax(0,1fr);max-width:86rem;margin:0 auto}
nav{position:sticky;top:0;align-self:start;height:100vh;overflow-y:auto;padding:1.75rem 1.25rem 2rem 1.5rem;border-right:1px solid var(--line);font-size:.875rem;line-height:1.45}
nav .brand{font-weight:700;font-size:1.05rem;color:var(--fg);display:block;margin-bottom:.75rem}
nav h2{font-size:.75rem;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:1.5rem 0 .35rem;border:0;padding:0}
nav ul{list-style:none;margin:0;padding:0}nav li{margin:0}nav a{display:block;padding:.16rem 0;color:var(--fg)}
nav details{border:0;margin:0;background:none;padding:0}nav summary{padding:.16rem 0;color:var(--fg);font-weight:400}nav details ul{padding:.1rem 0 .35rem .9rem}
nav details a{color:var(--soft);font-size:.8125rem;padding:.1rem 0}
nav .m{display:inline-block;min-width:3.6em;font:600 .6875rem/1 ui-monospace,Menlo,Consolas,monospace;text-transform:uppercase}
main{padding:2.25rem 3rem 6rem;min-width:0;max-width:62rem}
h1,h2,h3,h4,h5{line-height:1.25;margin:2.2em 0 .6em;font-weight:650;letter-spacing:-.008em}
h1{font-size:2.1rem;margin-top:2.6em;padding-top:.5em}main>h1:first-child,header h1{margin-top:0}h2{font-size:1.5rem;padding-top:.4em;border-top:1px solid var(--line)}h3{font-size:1.125rem}h4,h5{font-size:1rem}
.lead{font-size:1.15rem;color:var(--soft);max-width:44rem}
p,ul,ol{margin:.7em 0;max-width:46rem}li{margin:.3em 0}
.anchor{opacity:0;color:var(--soft);font-weight:400;margin-left:.15em}h1:hover .anchor,h2:hover .anchor,h3:hover .anchor,h4:hover .anchor,h5:hover .anchor,.anchor:focus{opacity:1}
code,pre,var{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-size:.875em;background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.08em .3em}
a code{color:inherit}
pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:.9rem 1rem;overflow-x:auto;font-size:.8125rem;line-height:1.55;margin:.8em 0}
pre code{background:none;border:0;padding:0;font-size:inherit}
.key{color:var(--key)}.str{color:var(--str)}.lit{color:var(--lit)}
section.operation,section.packet,section.schema{margin:2rem 0;padding-top:.2rem}
section.operation{border:1px solid var(--line);border-radius:10px;padding:1rem 1.25rem 1.1rem;margin:1.5rem 0}
section.operation h3{margin:0;font-size:1rem}section.packet h3,section.schema h3{margin-bottom:.4em}
.method{font:700 .75rem/1 ui-monospace,Menlo,Consolas,monospace;padding:.3em .55em;border-radius:5px;border:1px solid currentColor;margin-right:.35em;vertical-align:.12em}
.get,.head,.options{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.patch{color:var(--patch)}.delete{color:var(--delete)}
.path{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.95rem}.path var{color:var(--soft);font-style:italic}
.summary{font-weight:600;margin:.65em 0 .4em}
.note{color:var(--soft);font-size:.875rem;margin:.4em 0}
.label{font-weight:600;font-size:.875rem;margin:1.1em 0 .3em}.label span{font-weight:400;color:var(--soft)}
.scroll{overflow-x:auto;margin:.7em 0}
table{border-collapse:collapse;width:100%;font-size:.875rem;line-height:1.5}
th{text-align:left;font-weight:600;color:var(--soft);font-size:.75rem;padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line);white-space:nowrap}
td{vertical-align:top;padding:.42rem .75rem .42rem 0;border-bottom:1px solid var(--line);min-width:5rem}
table.members td:first-child{min-width:9rem}table.members td:last-child{min-width:14rem}table.responses td:nth-child(2){min-width:14rem}
tr:last-child td{border-bottom:0}
.required{color:var(--required);font-size:.6875rem;white-space:nowrap}.limits{color:var(--soft);font-size:.8125rem}
.status{font:600 .8125rem/1 ui-monospace,Menlo,Consolas,monospace}.s2{color:var(--get)}.s3{color:var(--soft)}.s4,.s5{color:var(--delete)}
.option{font-weight:600;font-size:.9rem;margin:1em 0 .2em}
details{margin:.55em 0}summary{cursor:pointer;color:var(--accent);font-size:.875rem;padding:.15rem 0}
details pre{margin-top:.4em}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1rem;margin:1.75rem 0}
.cards a{border:1px solid var(--line);border-radius:10px;padding:1rem 1.15rem;color:var(--fg);display:block}.cards a:hover{border-color:var(--accent);text-decoration:none}
.cards b{display:block;color:var(--accent);margin-bottom:.2rem}.cards span{color:var(--soft);font-size:.9rem}
.menu{display:none}
.error{border-top:1px solid var(--line);padding:.4rem 0 .6rem}.error h2{border:0;margin:.9em 0 .3em;font-size:1.15rem;padding:0}.error h2 code{font-size:1em}
.error .facts{color:var(--soft);font-size:.875rem;margin:.2em 0}.error:target{background:var(--panel);box-shadow:-1rem 0 0 var(--panel),1rem 0 0 var(--panel)}
main.single{margin:0 auto;padding-top:2.5rem;max-width:52rem}
@media(max-width:60rem){.frame{display:block}nav.side{display:none}.menu{display:block;border-bottom:1px solid var(--line);padding:.6rem 1.15rem;margin:0}
.menu>summary{font-weight:600;font-size:1rem}.menu nav{position:static;height:auto;border:0;padding:.25rem 0 1rem}
main{padding:1.5rem 1.15rem 4rem}h1{font-size:1.7rem}h2{font-size:1.3rem}section.operation{padding:.85rem .9rem;border-radius:8px}.lead{font-size:1.05rem}
td{min-width:4.5rem}table.members td:last-child,table.responses td:nth-child(2){min-width:12rem}}
@media print{nav,.menu,.anchor{display:none}.frame{display:block}main{max-width:none;padding:0}details:not([open])>*{display:block}}
</style>
</head>
<body>
<main class="single"><header><p><a href="./">← Strata Client API</a></p><h1 id="top">Errors</h1>
<p class="lead">What an error object says by its <code>id</code>, and what a client does about it.</p></header><pre class="json"><code>{
  <span class="key">&quot;id&quot;</span>: <span class="str">&quot;missing_property&quot;</span>,
  <span class="key">&quot;code&quot;</span>: <span class="lit">104</span>,
  <span class="key">&quot;message&quot;</span>: <span class="str">&quot;The property participants is required.&quot;</span>,
  <span class="key">&quot;url&quot;</span>: <span class="str">&quot;https://chat.example.org/docs/errors#missing_property&quot;</span>,
  <span class="key">&quot;data&quot;</span>: { <span class="key">&quot;property&quot;</span>: <span class="str">&quot;participants&quot;</span> }
}</code></pre><p>Over REST it is the body of the answer, and the status goes with it; on a socket it is <code>data</code> of a response whose <code>success</code> is false. Go by <code>id</code>: messages are for people, and may change.</p><div class="scroll"><table class=""><thead><tr><th>Id</th><th>Status</th></tr></thead><tbody><tr><td><a href="#service_unavailable"><code>service_unavailable</code></a></td><td>503</td></tr><tr><td><a href="#invalid_app_id"><code>invalid_app_id</code></a></td><td>403</td></tr><tr><td><a href="#invalid_request_id"><code>invalid_request_id</code></a></td><td>400</td></tr><tr><td><a href="#authentication_required"><code>authentication_required</code></a></td><td>401</td></tr><tr><td><a href="#app_suspended"><code>app_suspended</code></a></td><td>403</td></tr><tr><td><a href="#user_suspended"><code>user_suspended</code></a></td><td>403</td></tr><tr><td><a href="#rate_limit_exceeded"><code>rate_limit_exceeded</code></a></td><td>429</td></tr><tr><td><a href="#request_timeout"><code>request_timeout</code></a></td><td>408</td></tr><tr><td><a href="#invalid_operation"><code>invalid_operation</code></a></td><td>422</td></tr><tr><td><a href="#invalid_request"><code>invalid_request</code></a></td><td>400</td></tr><tr><td><a href="#internal_server_error"><code>internal_server_error</code></a></td><td>500</td></tr><tr><td><a href="#access_denied"><code>access_denied</code></a></td><td>403</td></tr><tr><td><a href="#not_found"><code>not_found</code></a></td><td>404</td></tr><tr><td><a href="#missing_property"><code>missing_property</code></a></td><td>422</td></tr><tr><td><a href="#invalid_property"><code>invalid_property</code></a></td><td>422</td></tr><tr><td><a href="#invalid_endpoint"><code>invalid_endpoint</code></a></td><td>404</td></tr><tr><td><a href="#invalid_header"><code>invalid_header</code></a></td><td>406</td></tr><tr><td><a href="#conflict"><code>conflict</code></a></td><td>409</td></tr><tr><td><a href="#method_not_allowed"><code>method_not_allowed</code></a></td><td>405</td></tr><tr><td><a href="#id_in_use"><code>id_in_use</code></a></td><td>409</td></tr></tbody></table></div><section class="error" id="service_unavailable"><h2><code>service_unavailable</code> <a class="anchor" href="#service_unavailable" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 503 · code 1</p><p>Something the server depends on, such as its database, is away or overloaded.</p><p><strong>What to do.</strong> Try again, at first soon, then with growing pauses. A create should be repeated with the same id; a patch only if its effect is still wanted.</p></section><section class="error" id="invalid_app_id"><h2><code>invalid_app_id</code> <a class="anchor" href="#invalid_app_id" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 403 · code 2</p><p>The app named at sign-in does not exist.</p><p><strong>What to do.</strong> Check the app id the client was built with; <code>strata app list</code> shows those there are.</p></section><section class="error" id="invalid_request_id"><h2><code>invalid_request_id</code> <a class="anchor" href="#invalid_request_id" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 400 · code 3</p><p>An id in the request is no UUID. Reserved; Strata answers <a href="errors#not_found"><code>not_found</code></a> or <a href="errors#invalid_property"><code>invalid_property</code></a> instead.</p><p><strong>What to do.</strong> Send a UUID.</p></section><section class="error" id="authentication_required"><h2><code>authentication_required</code> <a class="anchor" href="#authentication_required" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 401 · code 4</p><p>There is no session, it has ended or expired, or its user was suspended. <code>data.nonce</code> is a fresh nonce.</p><p><strong>What to do.</strong> Have your server sign an identity token with <code>data.nonce</code>, exchange it at <code>POST /sessions</code>, and send the request again.</p></section><section class="error" id="app_suspended"><h2><code>app_suspended</code> <a class="anchor" href="#app_suspended" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 403 · code 5</p><p>The operator has suspended the app.</p><p><strong>What to do.</strong> Nothing the client can do. Ask the operator.</p></section><section class="error" id="user_suspended"><h2><code>user_suspended</code> <a class="anchor" href="#user_suspended" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 403 · code 6</p><p>The user is suspended and cannot sign in.</p><p><strong>What to do.</strong> Nothing the client can do. Ask the operator.</p></section><section class="error" id="rate_limit_exceeded"><h2><code>rate_limit_exceeded</code> <a class="anchor" href="#rate_limit_exceeded" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 429 · code 7</p><p>Far more requests than an ordinary client sends, by one session or from one address.</p><p><strong>What to do.</strong> Wait as long as the <code>Retry-After</code> header says. Look for a loop in the client.</p></section><section class="error" id="request_timeout"><h2><code>request_timeout</code> <a class="anchor" href="#request_timeout" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 408 · code 8</p><p>The request took too long. Whether it had an effect is unknown.</p><p><strong>What to do.</strong> Try again. Creates with an id of the client&#x27;s are safe to repeat; before a patch, look at the object.</p></section><section class="error" id="invalid_operation"><h2><code>invalid_operation</code> <a class="anchor" href="#invalid_operation" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 422 · code 9</p><p>The operation makes no sense on this object, such as deleting <code>metadata</code> as a whole or the last part of a message; on a socket also a method that does not exist.</p><p><strong>What to do.</strong> A mistake in the client; <code>message</code> and <code>data.property</code> say which.</p></section><section class="error" id="invalid_request"><h2><code>invalid_request</code> <a class="anchor" href="#invalid_request" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 400 · code 10</p><p>The request is malformed, a body that is no JSON, for example, or larger than 1 MB, or of another structure than the endpoint&#x27;s.</p><p><strong>What to do.</strong> A mistake in the client; compare with the endpoint&#x27;s description.</p></section><section class="error" id="internal_server_error"><h2><code>internal_server_error</code> <a class="anchor" href="#internal_server_error" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 500 · code 100</p><p>Something unexpected went wrong on the server. It has logged the reason.</p><p><strong>What to do.</strong> Try again once; if it persists, tell the operator the time of the request.</p></section><section class="error" id="access_denied"><h2><code>access_denied</code> <a class="anchor" href="#access_denied" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 403 · code 101</p><p>The user knows the object but may not do this, as a former participant of the conversation, for example, or to somebody else&#x27;s message.</p><p><strong>What to do.</strong> Load the object anew, and show the user what he still can do.</p></section><section class="error" id="not_found"><h2><code>not_found</code> <a class="anchor" href="#not_found" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 404 · code 102</p><p>The object does not exist, was deleted, or the user could never see it. It is not said which.</p><p><strong>What to do.</strong> Treat it as gone.</p></section><section class="error" id="missing_property"><h2><code>missing_property</code> <a class="anchor" href="#missing_property" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 422 · code 104</p><p>A required property, parameter or header is missing; <code>data.property</code> names it.</p><p><strong>What to do.</strong> A mistake in the client; send it.</p></section><section class="error" id="invalid_property"><h2><code>invalid_property</code> <a class="anchor" href="#invalid_property" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 422 · code 105</p><p>A property has a value that cannot be taken; <code>data.property</code> names it, with a path such as <code>parts.0.mime_type</code>. Also an identity token that is not good, whatever the reason.</p><p><strong>What to do.</strong> Correct the value. With <code>identity_token</code>, take a new nonce and have a new token signed; check the key, the provider id and the clock of the server that signs.</p></section><section class="error" id="invalid_endpoint"><h2><code>invalid_endpoint</code> <a class="anchor" href="#invalid_endpoint" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 404 · code 106</p><p>There is no such method and path.</p><p><strong>What to do.</strong> Check the URL, and the base URL the client was given.</p></section><section class="error" id="invalid_header"><h2><code>invalid_header</code> <a class="anchor" href="#invalid_header" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 406 · code 107</p><p>A header is missing or not one that is served; <code>data.header</code> names it, <code>Accept</code>, <code>Content-Type</code> or <code>Sec-WebSocket-Protocol</code>.</p><p><strong>What to do.</strong> Send <code>Accept: application/vnd.layer+json; version=3.0</code>, with a patch <code>Content-Type: application/vnd.layer-patch+json</code>, on a socket the subprotocol <code>layer-3.0</code>.</p></section><section class="error" id="conflict"><h2><code>conflict</code> <a class="anchor" href="#conflict" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 409 · code 108</p><p>A distinct conversation with these participants exists and has other metadata; <code>data</code> is that conversation.</p><p><strong>What to do.</strong> Use the conversation in <code>data</code>, and patch its metadata if you may.</p></section><section class="error" id="method_not_allowed"><h2><code>method_not_allowed</code> <a class="anchor" href="#method_not_allowed" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 405 · code 109</p><p>The method is not allowed here. Reserved; Strata answers <a href="errors#invalid_endpoint"><code>invalid_endpoint</code></a>.</p><p><strong>What to do.</strong> Use a method the endpoint has.</p></section><section class="error" id="id_in_use"><h2><code>id_in_use</code> <a class="anchor" href="#id_in_use" aria-label="Link to this">#</a></h2><p class="facts">HTTP status 409 · code 111</p><p>An object with this id exists; <code>data</code> is that object, or empty if the user may not see it.</p><p><strong>What to do.</strong> If <code>data.id</code> is the id you sent, an earlier try of yours succeeded: take <code>data</code> as the answer. Otherwise choose another id.</p></section></main>
</body>
</html>

"""##
    static let errorsFile = File(errorsText, contentType: "text/html; charset=utf-8", entityTag: "\"efb861498b4b8346\"")

    static let openAPIText: StaticString = ##"""
openapi: 3.1.0
info:
  title: Strata Client API, REST
  version: '3.0'
  summary: Conversations, messages, receipts, rich content and identities over HTTP.
  license: {name: Apache-2.0, identifier: Apache-2.0}
  description: |
    The REST half of the Client API as Strata serves it. The WebSocket half is described in `asyncapi.yaml`; how a client keeps an exact copy of what the
    server holds is described in `protocol.md`.

    ## Versions

    Every request that belongs to the API names a version in `Accept`:

    ```
    Accept: application/vnd.layer+json; version=3.0
    ```

    2.0 and 3.0 are served. They differ in one thing: the ids of message parts, which end in the part's index in 2.0 and in its UUID in 3.0; members that
    only 3.0 has are marked. A missing, malformed or unknown version is answered with `406` and `invalid_header`. Upload and download URLs, `GET /`,
    `/ping` and preflights need none. The answer is always `application/json`, errors included.

    ## Sessions

    Take a nonce (`POST /nonces`), have your own server sign an identity token that contains it, exchange that for a session (`POST /sessions`), and send the
    session with every request:

    ```
    Authorization: Layer session-token="Q7…"
    ```

    A request without a session, or with one that has ended, is answered with `401`; `data.nonce` of the error is a fresh nonce to sign in again with.

    ## Identifiers

    Objects are named by URIs such as `layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01`. Every object also has a `url`, which is the public base URL
    followed by the id without `layer://`. Where a path or `from_id` wants an id, the bare UUID (or the user id, percent-encoded) and the whole URI are taken.
    Identity ids contain the user id percent-encoded: letters, digits, `-`, `_`, `.` and `*` stay, everything else becomes `%` and two upper-case hex digits.

    ## Creating is repeatable

    Conversations and messages may be created with an `id` chosen by the client. Repeating a create whose answer was lost is safe: it is answered with `409`
    `id_in_use` and the object that exists.

    ## Lists

    Lists are arrays, newest first. `page_size` limits a page (larger values than the maximum are cut down to it), `from_id` asks for what comes after an item,
    and the header `Layer-Count` of every page tells how long the whole list is.

    ## Method override

    `POST` with the header `X-HTTP-Method-Override: PATCH` is a `PATCH`.

    ## Browsers

    `OPTIONS` on any path answers a preflight. If a request has an `Origin`, the answer, errors included, has `Access-Control-Allow-Origin` with that origin,
    `Access-Control-Allow-Credentials: true`, `Vary: Origin` and `Access-Control-Expose-Headers: Layer-Count, Link, Content-Range, ETag, Retry-After`.

    ## Errors

    The body of every answer that is no success is an error object, whose `id` says what it is. Where there is no such method and path the answer is `404` `invalid_endpoint`, for a known path with another method,
    too; what is no proper HTTP is `400` `invalid_request`, and so is a request of HTTP/1.1 without a `Host`, or with two. With a body larger than 1 MB the status of `invalid_request` is `413`, with a compressed one `415`,
    with a head that is too large `431`. A client that sends `Expect: 100-continue` gets `100 Continue` when its body is wanted, and a refusal instead when it is not. `429` and `503` are worth repeating, `429` after `Retry-After` seconds.
servers:
  - url: https://chat.example.org
    description: Your own; every URL in an object begins with the configured public base URL.
externalDocs:
  description: What the error ids mean
  url: https://chat.example.org/docs/errors
security:
  - session: []
tags:
  - name: Discovery
    description: Where things are, whether the server is there, and whether a session still is.
  - name: Sessions
    description: Signing in and out.
  - name: Push tokens
    description: Devices that want to be told of messages while no socket is open. Tokens are stored; Strata does not send pushes yet.
  - name: Identities
    description: Users as others see them.
  - name: Following
    description: |
      Whoever shares a conversation with somebody follows him from then on; anybody can be followed explicitly too. Those a user follows are his list of
      identities, and he is told when they change. Other sockets of the same user are told of an explicit follow or unfollow by Identity packets.
  - name: Conversations
    description: Every member of a conversation object is from the point of view of the user who asks.
  - name: Messages
    description: Messages and their parts, up to 2048 characters inline; anything larger is rich content.
  - name: Receipts
    description: How far messages came with the user who asks.
  - name: Rich content
    description: |
      Bytes of any size up to 2 GB that message parts refer to:

      1. `POST /content` announces type and size, and gives an `upload_url`.
      2. `PUT` the bytes there. No session and no `Accept`: the URL is the permission, and works for 24 hours.
      3. Send a message with `"content": {"id": "layer:///content/…", "size": …}` in a part.
      4. Whoever sees the message gets a Content object with a `download_url`, good for at least an hour; `refresh_url` gives a new one.

      Content that no message refers to is removed after a day.
  - name: Announcements
    description: Messages of the operator to single users, outside of any conversation. They are sent with `strata announce`.
  - name: Channels
    description: Not served. The list is answered as empty, and everything else about channels with `404` `invalid_endpoint`.

paths:
  /:
    get:
      operationId: discover
      tags: [Discovery]
      summary: Discovery and session check
      description: |
        The `Link` header tells where everything is. With an `Authorization` header the session is checked, too: `200` means that it is good, `401` that a new
        one is needed. Query parameters are ignored. With `Upgrade: websocket` this is the socket, see `asyncapi.yaml`; a refused handshake is answered with the
        errors below.
      security: [{}, {session: []}]
      responses:
        '200':
          description: An empty object.
          headers: {Link: {$ref: '#/components/headers/Link'}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Empty'}, example: {}}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    head:
      operationId: discoverHead
      tags: [Discovery]
      summary: Discovery without a body
      security: [{}]
      responses:
        '200':
          description: Only the header.
          headers: {Link: {$ref: '#/components/headers/Link'}}
        '429': {description: Too many requests.}
    options:
      operationId: preflight
      tags: [Discovery]
      summary: Preflight
      description: The same on every path, whether it exists or not.
      security: [{}]
      responses:
        '204':
          description: What browsers may send.
          headers:
            Access-Control-Allow-Methods: {schema: {type: string}, example: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'}
            Access-Control-Allow-Headers: {schema: {type: string}}
            Access-Control-Max-Age: {schema: {type: integer}, description: Seconds., example: 86400}
  /websocket:
    get:
      operationId: discoverByOldPath
      tags: [Discovery]
      summary: Another name of /
      description: Where clients from before July 2016 open their socket. Otherwise like `GET /`.
      security: [{}, {session: []}]
      responses:
        '200':
          description: An empty object.
          headers: {Link: {$ref: '#/components/headers/Link'}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Empty'}, example: {}}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /ping:
    head:
      operationId: ping
      tags: [Discovery]
      summary: Is the server there?
      description: Cheap, and never limited. Query parameters are ignored.
      security: [{}]
      responses:
        '200': {description: It is. No body.}
    get:
      operationId: pingGet
      tags: [Discovery]
      summary: The same for those who cannot send HEAD
      security: [{}]
      responses:
        '200': {description: It is. No body.}

  /nonces:
    post:
      operationId: createNonce
      tags: [Sessions]
      summary: Take a nonce
      description: No body, and no session. A nonce is good once, for 10 minutes.
      security: [{}]
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '201':
          description: A nonce.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Nonce'}
              example: {nonce: AAABlUqv0xkXbV8m2m4Jt2gq1z0vXwq3c9kq7cQ}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /sessions:
    post:
      operationId: createSession
      tags: [Sessions]
      summary: Sign in
      description: |
        Exchanges an identity token for a session, which lasts 30 days from its last use unless the operator set something else.

        An identity token is a compact JWS, signed with `RS256`, whose header has `cty` = `layer-eit;v=1` and `kid` = the id of the app's key, and whose claims are `iss`
        (the app's provider id), `prn` (the user id), `iat`, `exp` (seconds), `nce` (a nonce), and optionally `display_name`, `avatar_url`, `first_name`, `last_name`,
        `phone_number`, `email_address`, `public_key`: those change the user's identity. The nonce is used up only if everything else is valid. Whatever is wrong with the
        token is answered in the same way: `422`, `invalid_property`, `data.property` = `identity_token`.
      security: [{}]
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/SessionRequest'}
            example: {identity_token: eyJhbGciOiJSUzI1NiIs…, app_id: 'layer:///apps/production/5f0c9a4e-7f1d-4d6c-9a0e-3b7a9d1c2e4f'}
      responses:
        '201':
          description: The session.
          headers: {Link: {$ref: '#/components/headers/Link'}}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Session'}
              example: {session_token: m0Yy1Vb2w4q8f3hZ7nK5tR9xC6pL1sD0gJ2aE4uT8iQ}
        '400': {$ref: '#/components/responses/BadRequest'}
        '403':
          description: '`invalid_app_id`: there is no such app. `app_suspended`, `user_suspended`: the operator has suspended it, or him.'
          content:
            application/json:
              schema: {$ref: '#/components/schemas/SignInRefused'}
              example:
                {id: invalid_app_id, code: 2, message: There is no such app., url: 'https://chat.example.org/docs/errors#invalid_app_id', data: {property: app_id}}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /sessions/{session_token}:
    parameters:
      - name: session_token
        in: path
        required: true
        description: The session to end.
        schema: {type: string, minLength: 1}
        example: m0Yy1Vb2w4q8f3hZ7nK5tR9xC6pL1sD0gJ2aE4uT8iQ
    delete:
      operationId: deleteSession
      tags: [Sessions]
      summary: Sign out
      description: |
        Ends the session and closes its sockets with code 4401. A session that does not exist has ended: `204` as well. The `Authorization` header may be left out; if it is
        there, it must name the same session.
      security: [{}, {session: []}]
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '204': {description: It has ended.}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /push_tokens:
    post:
      operationId: createPushToken
      tags: [Push tokens]
      summary: Register a device
      description: One token per device id and app; a new one replaces it, whoever registered it.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/PushToken'}
            example: {token: 9bd2f1a0c3, type: apns, device_id: 1FA1-44D1, apns_bundle_id: org.example.chat, ios_version: '16.4'}
      responses:
        '202': {description: Stored. No body.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /push_tokens/{device_id}:
    parameters:
      - name: device_id
        in: path
        required: true
        description: As it was registered.
        schema: {type: string, minLength: 1}
        example: 1FA1-44D1
    delete:
      operationId: deletePushToken
      tags: [Push tokens]
      summary: Forget a device
      description: An unknown device is no error.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '202': {description: Forgotten. No body.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /identities:
    get:
      operationId: listIdentities
      tags: [Identities]
      summary: Identities the user follows
      description: Newest first, by when the identity was created; without the user himself.
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - {$ref: '#/components/parameters/PageSize500'}
        - {$ref: '#/components/parameters/FromIdentity'}
      responses:
        '200':
          description: A page.
          headers: {Layer-Count: {$ref: '#/components/headers/LayerCount'}}
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/Identity'}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /identities/{user_id}:
    parameters: [{$ref: '#/components/parameters/UserID'}]
    get:
      operationId: getIdentity
      tags: [Identities]
      summary: One identity
      description: |
        Of any user of the app, followed or not. A user id that has never been seen is answered with an identity that has nothing but this id, so that conversations can be
        started with users who have not signed in yet. `404` only for what cannot be a user id: empty, over 128 bytes, or with control characters.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '200':
          description: The identity.
          content: {application/json: {schema: {$ref: '#/components/schemas/Identity'}}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /following:
    get:
      operationId: listFollowing
      tags: [Following]
      summary: Ids of those the user follows
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - {$ref: '#/components/parameters/PageSize500'}
        - {$ref: '#/components/parameters/FromIdentity'}
      responses:
        '200':
          description: A page of identity ids.
          headers: {Layer-Count: {$ref: '#/components/headers/LayerCount'}}
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/IdentityID'}}
              example: ['layer:///identities/ben', 'layer:///identities/cleo']
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /following/{user_id}:
    parameters: [{$ref: '#/components/parameters/UserID'}]
    delete:
      operationId: unfollowByShortPath
      tags: [Following]
      summary: Unfollow, by another path
      description: Like `DELETE /following/users/{user_id}`.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '204': {description: Not followed any more.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /following/users:
    post:
      operationId: followMany
      tags: [Following]
      summary: Follow several users
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: array
              description: User ids, or identity ids, at most 1000. The own one is passed over.
              maxItems: 1000
              items: {type: string, minLength: 1}
            example: [ben, 'layer:///identities/cleo']
      responses:
        '202': {description: They will be followed at once. No body.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /following/users/{user_id}:
    parameters: [{$ref: '#/components/parameters/UserID'}]
    get:
      operationId: isFollowing
      tags: [Following]
      summary: Is this user followed?
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '204': {description: Yes.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    put:
      operationId: follow
      tags: [Following]
      summary: Follow a user
      description: Again is no error. Nobody follows himself (`422`, `invalid_property`, `data.property` = `user_id`).
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '204': {description: Followed.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    delete:
      operationId: unfollow
      tags: [Following]
      summary: Unfollow a user
      description: Without effect, and no error, if he was not followed, or while the two share a conversation.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '204': {description: Not followed any more.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /conversations:
    get:
      operationId: listConversations
      tags: [Conversations]
      summary: The user's conversations
      description: |
        Also those he has left or was removed from, as they were then and with `participants: []`; not those he deleted from his devices, nor those that were deleted for all.
        `created_at` is the order to load a whole list by, since it does not change meanwhile.
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - {$ref: '#/components/parameters/PageSize100'}
        - name: from_id
          in: query
          description: What comes after this conversation. One that was deleted meanwhile still works; an unknown one does not.
          schema: {type: string}
          example: layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
        - name: sort_by
          in: query
          description: |
            `created_at`: newest conversation first. `last_message`: by the time of the last message, of which an empty conversation has its creation's.
          schema: {type: string, enum: [created_at, last_message], default: created_at}
      responses:
        '200':
          description: A page.
          headers: {Layer-Count: {$ref: '#/components/headers/LayerCount'}}
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/Conversation'}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    post:
      operationId: createConversation
      tags: [Conversations]
      summary: Create a conversation
      description: |
        A distinct conversation (the default) exists once for its set of participants. If there is one already, it is the answer (`200`), unless other metadata is asked
        for: that is a `conflict`, with the existing conversation in `data`. A distinct conversation stops being distinct for good when its participants change.

        `delivery_receipts` and `read_receipts` can be switched off here and only here; they do not make a distinct conversation another one.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/NewConversation'}
            examples:
              distinct:
                summary: With Ben, wherever that is
                value: {participants: ['layer:///identities/ben']}
              group:
                summary: A group of its own, with a title
                value:
                  id: layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
                  participants: ['layer:///identities/ben', 'layer:///identities/cleo']
                  distinct: false
                  metadata: {title: Weekend trip}
      responses:
        '200':
          description: The distinct conversation of these participants, which existed.
          content: {application/json: {schema: {$ref: '#/components/schemas/Conversation'}}}
        '201':
          description: A new conversation.
          content: {application/json: {schema: {$ref: '#/components/schemas/Conversation'}}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '409':
          description: |
            `id_in_use`: the id is taken; `data` is the conversation, or empty if the user may not see it. `conflict`: the distinct conversation has other metadata;
            `data` is that conversation.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/ConversationConflict'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /conversations/{conversation_id}:
    parameters: [{$ref: '#/components/parameters/ConversationID'}]
    get:
      operationId: getConversation
      tags: [Conversations]
      summary: One conversation
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '200':
          description: The conversation.
          content: {application/json: {schema: {$ref: '#/components/schemas/Conversation'}}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    patch:
      operationId: patchConversation
      tags: [Conversations]
      summary: Change participants or metadata
      description: |
        All operations are checked, then all are applied, or none. Only `participants` and `metadata` (with any path below it) can be patched. Adding who is there,
        removing who is not and deleting a key that does not exist are no errors, and what changes nothing is announced to nobody.

        Two users who set different keys never overwrite each other; of two who set the same key, the one whose change was committed later wins.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/vnd.layer-patch+json:
            schema: {$ref: '#/components/schemas/ConversationPatch'}
            examples:
              participants:
                summary: Somebody goes, somebody comes
                value:
                  - {operation: remove, property: participants, id: 'layer:///identities/ben'}
                  - {operation: add, property: participants, id: 'layer:///identities/cleo'}
              metadata:
                summary: Single keys
                value:
                  - {operation: set, property: metadata.trip.city, value: Porto}
                  - {operation: delete, property: metadata.trip.hotel}
              everything:
                summary: All metadata anew
                value: [{operation: set, property: metadata, value: {title: New}}]
      responses:
        '204': {description: Done.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    post:
      operationId: patchConversationByPost
      tags: [Conversations]
      summary: The same for those who cannot send PATCH
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - name: X-HTTP-Method-Override
          in: header
          required: true
          description: Without it there is no such endpoint.
          schema: {type: string, const: PATCH}
      requestBody:
        required: true
        content:
          application/vnd.layer-patch+json:
            schema: {$ref: '#/components/schemas/ConversationPatch'}
            example: [{operation: set, property: metadata.title, value: Weekend trip}]
      responses:
        '204': {description: Done.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    delete:
      operationId: deleteConversation
      tags: [Conversations]
      summary: Delete a conversation
      description: |
        For everybody, which cannot be undone, or for the user's own devices: then it is hidden with all messages so far, and a later message brings it back with only
        the newer ones. With `leave` the user is removed from the participants, too. A former participant can only delete from his own devices.
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - {$ref: '#/components/parameters/DeletionMode'}
        - name: leave
          in: query
          description: With `my_devices`, leave the conversation as well.
          schema: {type: boolean, default: false}
        - name: destroy
          in: query
          deprecated: true
          description: '`true` is an old spelling of `mode=all_participants`.'
          schema: {type: boolean, default: false}
      responses:
        '204': {description: Deleted.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /conversations/{conversation_id}/mark_all_read:
    parameters: [{$ref: '#/components/parameters/ConversationID'}]
    post:
      operationId: markAllRead
      tags: [Receipts]
      summary: Mark everything as read
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: false
        content:
          application/json:
            schema: {$ref: '#/components/schemas/MarkAllRead'}
            example: {position: 81920}
      responses:
        '204': {description: Done.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /conversations/{conversation_id}/messages:
    parameters: [{$ref: '#/components/parameters/ConversationID'}]
    get:
      operationId: listMessages
      tags: [Messages]
      summary: Messages of a conversation
      description: Newest first, by `position`; those the user can see.
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - {$ref: '#/components/parameters/PageSize100'}
        - name: from_id
          in: query
          description: What comes after this message, that is, older ones. One that was deleted meanwhile still works; an unknown one does not.
          schema: {type: string}
          example: layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10
      responses:
        '200':
          description: A page.
          headers: {Layer-Count: {$ref: '#/components/headers/LayerCount'}}
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/Message'}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    post:
      operationId: sendMessage
      tags: [Messages]
      summary: Send a message
      description: Sending ends the sender's typing.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/NewMessage'}
            examples:
              text:
                summary: Text
                value: {parts: [{mime_type: text/plain, body: Train leaves at 8}]}
              everything:
                summary: With ids, a picture and a notification
                value:
                  id: layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10
                  parts:
                    - id: layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d
                      mime_type: text/plain
                      body: Look
                    - mime_type: image/jpeg
                      content: {id: 'layer:///content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11', size: 48213}
                  notification: {title: Ana, text: sent you a picture}
      responses:
        '201':
          description: The message as stored.
          content: {application/json: {schema: {$ref: '#/components/schemas/Message'}}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '409':
          description: '`id_in_use`: the id is taken; `data` is the message, or empty if the user may not see it.'
          content: {application/json: {schema: {$ref: '#/components/schemas/MessageConflict'}}}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /messages/{message_id}:
    parameters: [{$ref: '#/components/parameters/MessageID'}]
    get:
      operationId: getMessage
      tags: [Messages]
      summary: One message
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '200':
          description: The message.
          content: {application/json: {schema: {$ref: '#/components/schemas/Message'}}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    delete:
      operationId: deleteMessage
      tags: [Messages]
      summary: Delete a message
      description: For everybody, which any participant may do and nobody can undo, or from the user's own devices.
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - {$ref: '#/components/parameters/DeletionMode'}
        - name: destroy
          in: query
          deprecated: true
          description: '`true` is an old spelling of `mode=all_participants`.'
          schema: {type: boolean, default: false}
      responses:
        '204': {description: Deleted.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /messages/{message_id}/receipts:
    parameters: [{$ref: '#/components/parameters/MessageID'}]
    post:
      operationId: giveReceipt
      tags: [Receipts]
      summary: Tell that a message was delivered or read
      description: A receipt that changes nothing is no error. Receipts only ever move a status forward; reading implies delivery.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Receipt'}
            example: {type: read}
      responses:
        '204': {description: Taken.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /messages/{message_id}/parts:
    parameters: [{$ref: '#/components/parameters/MessageID'}]
    get:
      operationId: listParts
      tags: [Messages]
      summary: The parts of a message
      description: All of them, in their order; there are no pages.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '200':
          description: The parts.
          headers: {Layer-Count: {$ref: '#/components/headers/LayerCount'}}
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/MessagePart'}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    post:
      operationId: addPart
      tags: [Messages]
      summary: Add a part to a message
      description: Only its sender may change a message, and only while he is a participant (`403` otherwise).
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/NewPart'}
            example: {mime_type: text/plain, body: And another thing}
      responses:
        '201':
          description: The part as stored.
          content: {application/json: {schema: {$ref: '#/components/schemas/MessagePart'}}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    put:
      operationId: replaceParts
      tags: [Messages]
      summary: Replace all parts
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: array, minItems: 1, maxItems: 1000, items: {$ref: '#/components/schemas/NewPart'}}
            example: [{mime_type: text/plain, body: Train leaves at 9}]
      responses:
        '200':
          description: The parts as stored.
          headers: {Layer-Count: {$ref: '#/components/headers/LayerCount'}}
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/MessagePart'}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /messages/{message_id}/parts/{part}:
    parameters: [{$ref: '#/components/parameters/MessageID'}, {$ref: '#/components/parameters/Part'}]
    get:
      operationId: getPart
      tags: [Messages]
      summary: One part
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '200':
          description: The part.
          content: {application/json: {schema: {$ref: '#/components/schemas/MessagePart'}}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    put:
      operationId: replacePart
      tags: [Messages]
      summary: Change a part
      description: The part keeps its id and its place.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/NewPart'}
            example: {mime_type: text/plain, body: Train leaves at 9}
      responses:
        '200':
          description: The part as stored.
          content: {application/json: {schema: {$ref: '#/components/schemas/MessagePart'}}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    delete:
      operationId: deletePart
      tags: [Messages]
      summary: Remove a part
      description: The last part cannot be removed (`422`, `invalid_operation`).
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '204': {description: Removed.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /content:
    post:
      operationId: createContent
      tags: [Rich content]
      summary: Announce an upload
      description: No body. A missing header is `422` `missing_property` with the header's name in `data.property`.
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - name: Upload-Content-Type
          in: header
          required: true
          description: The MIME type of what will be uploaded.
          schema: {type: string}
          example: image/jpeg
        - name: Upload-Content-Length
          in: header
          required: true
          description: How many bytes will be uploaded, 2 GB at most unless the operator set something else.
          schema: {type: integer, minimum: 0, maximum: 2147483648}
          example: 48213
        - name: Upload-Origin
          in: header
          description: Taken, and not needed.
          schema: {type: string}
          example: https://app.example.org
      responses:
        '201':
          description: Where to upload to. `download_url` and `expiration` are null until then.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Content'}
              example:
                id: layer:///content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11
                size: 48213
                upload_url: https://chat.example.org/content/uploads/0aVn3…
                download_url: null
                expiration: null
                refresh_url: https://chat.example.org/content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /content/{content_id}:
    parameters: [{$ref: '#/components/parameters/ContentID'}]
    get:
      operationId: getContent
      tags: [Rich content]
      summary: A fresh download URL
      description: For who uploaded it, and for everybody who can see a message that refers to it.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '200':
          description: With a new `download_url` and `expiration`.
          content: {application/json: {schema: {$ref: '#/components/schemas/Content'}}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /content/uploads/{token}:
    parameters: [{$ref: '#/components/parameters/ContentToken'}]
    put:
      operationId: uploadContent
      tags: [Rich content]
      summary: Upload
      description: |
        The raw bytes, as many as were announced; otherwise it is `422` `invalid_property` and nothing is kept. An upload that breaks off leaves nothing behind and may be
        started anew. Once complete, further ones are `204`, and change nothing. Use the URL as it was given.
      security: [{}]
      requestBody:
        required: true
        content:
          application/octet-stream: {schema: {type: string, format: binary}}
      responses:
        '204': {description: Complete.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '404': {$ref: '#/components/responses/NotFound'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /content/downloads/{token}:
    parameters: [{$ref: '#/components/parameters/ContentToken'}]
    get:
      operationId: downloadContent
      tags: [Rich content]
      summary: Download
      description: Use the URL as it was given. One range of bytes may be asked for.
      security: [{}]
      parameters:
        - name: Range
          in: header
          schema: {type: string}
          example: bytes=0-1023
      responses:
        '200':
          description: The bytes, with the type that was announced.
          headers:
            Accept-Ranges: {schema: {type: string, const: bytes}}
          content: {'*/*': {schema: {type: string, format: binary}}}
        '206':
          description: A part of them.
          headers:
            Content-Range: {schema: {type: string}, example: bytes 0-1023/48213}
          content: {'*/*': {schema: {type: string, format: binary}}}
        '304': {description: '`If-None-Match` named what is there.'}
        '404': {$ref: '#/components/responses/NotFound'}
        '408': {$ref: '#/components/responses/Timeout'}
        '416':
          description: The range lies beyond the end.
          headers:
            Content-Range: {schema: {type: string}, example: bytes */48213}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/MalformedRequest'}
              example: {id: invalid_request, code: 10, message: The range lies beyond the end., url: 'https://chat.example.org/docs/errors#invalid_request', data: {}}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    head:
      operationId: downloadContentHead
      tags: [Rich content]
      summary: Size and type of a download
      security: [{}]
      responses:
        '200': {description: 'As for GET, without a body.'}
        '304': {description: As for GET.}
        '404': {description: 'No such URL, or not any more.'}
        '408': {description: It took too long.}
        '429': {description: Too many requests.}
        '503': {description: 'Not available at the moment, try again.'}

  /announcements:
    get:
      operationId: listAnnouncements
      tags: [Announcements]
      summary: The user's announcements
      description: Newest first.
      parameters:
        - {$ref: '#/components/parameters/Accept'}
        - {$ref: '#/components/parameters/PageSize100'}
        - name: from_id
          in: query
          description: What comes after this announcement.
          schema: {type: string}
          example: layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55
      responses:
        '200':
          description: A page.
          headers: {Layer-Count: {$ref: '#/components/headers/LayerCount'}}
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/Announcement'}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /announcements/{announcement_id}:
    parameters: [{$ref: '#/components/parameters/AnnouncementID'}]
    get:
      operationId: getAnnouncement
      tags: [Announcements]
      summary: One announcement
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '200':
          description: The announcement.
          content: {application/json: {schema: {$ref: '#/components/schemas/Announcement'}}}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
    delete:
      operationId: deleteAnnouncement
      tags: [Announcements]
      summary: Remove an announcement
      description: For the user who asks only.
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '204': {description: Removed.}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}
  /announcements/{announcement_id}/receipts:
    parameters: [{$ref: '#/components/parameters/AnnouncementID'}]
    post:
      operationId: giveAnnouncementReceipt
      tags: [Announcements]
      summary: Tell that an announcement was delivered or read
      parameters: [{$ref: '#/components/parameters/Accept'}]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Receipt'}
            example: {type: read}
      responses:
        '204': {description: Taken.}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': {$ref: '#/components/responses/NotFound'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '422': {$ref: '#/components/responses/Unprocessable'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}

  /channels:
    get:
      operationId: listChannels
      tags: [Channels]
      summary: No channels
      parameters: [{$ref: '#/components/parameters/Accept'}]
      responses:
        '200':
          description: An empty list.
          headers: {Layer-Count: {$ref: '#/components/headers/LayerCount'}}
          content:
            application/json:
              schema: {type: array, maxItems: 0, items: {}}
              example: []
        '401': {$ref: '#/components/responses/Unauthorized'}
        '406': {$ref: '#/components/responses/NotAcceptable'}
        '408': {$ref: '#/components/responses/Timeout'}
        '429': {$ref: '#/components/responses/TooManyRequests'}
        '503': {$ref: '#/components/responses/Unavailable'}

components:
  securitySchemes:
    session:
      type: apiKey
      in: header
      name: Authorization
      description: |
        `Layer session-token="<token>"`, the token being that of `POST /sessions`. Single quotes, and none, are taken, too.

  parameters:
    Accept:
      name: Accept
      in: header
      required: true
      description: |
        The version of the API. (Tools that follow OpenAPI to the letter ignore parameters of this name; it has to be sent all the same.)
      schema:
        type: string
        enum: [application/vnd.layer+json; version=3.0, application/vnd.layer+json; version=2.0]
      example: application/vnd.layer+json; version=3.0
    PageSize100:
      name: page_size
      in: query
      description: At most so many items. More than 100 is the same as 100.
      schema: {type: integer, minimum: 1, default: 100}
    PageSize500:
      name: page_size
      in: query
      description: At most so many items. More than 500 is the same as 500.
      schema: {type: integer, minimum: 1, default: 500}
    FromIdentity:
      name: from_id
      in: query
      description: What comes after this identity.
      schema: {type: string}
      example: layer:///identities/ben
    DeletionMode:
      name: mode
      in: query
      description: Who it is deleted for. Required, unless `destroy=true` says it.
      schema: {type: string, enum: [all_participants, my_devices]}
      example: my_devices
    UserID:
      name: user_id
      in: path
      required: true
      description: The app's own id of the user, percent-encoded.
      schema: {type: string, minLength: 1, maxLength: 128}
      example: ben
    ConversationID:
      name: conversation_id
      in: path
      required: true
      description: The UUID of a conversation.
      schema: {type: string, format: uuid}
      example: 6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
    MessageID:
      name: message_id
      in: path
      required: true
      description: The UUID of a message.
      schema: {type: string, format: uuid}
      example: 0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10
    Part:
      name: part
      in: path
      required: true
      description: The part's UUID, or its index from 0.
      schema:
        anyOf:
          - {type: string, format: uuid}
          - {type: integer, minimum: 0, maximum: 999}
      example: 5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d
    ContentID:
      name: content_id
      in: path
      required: true
      description: The UUID of content.
      schema: {type: string, format: uuid}
      example: 7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11
    ContentToken:
      name: token
      in: path
      required: true
      description: Part of a URL that was given; opaque, and the permission by itself.
      schema: {type: string, minLength: 1}
      example: 0aVn3dGw5kP7
    AnnouncementID:
      name: announcement_id
      in: path
      required: true
      description: The UUID of an announcement.
      schema: {type: string, format: uuid}
      example: 3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55

  headers:
    LayerCount:
      description: How many items the whole list has, on every page.
      required: true
      schema: {type: integer, minimum: 0}
      example: 2
    Link:
      description: Where things are, by `rel`. `nonces`, `sessions`, `conversations`, `content`, `websocket`.
      required: true
      schema: {type: string}
      example: <https://chat.example.org/nonces>; rel=nonces, <https://chat.example.org/sessions>; rel=sessions, <https://chat.example.org/conversations>; rel=conversations, <https://chat.example.org/content>; rel=content, <wss://chat.example.org>; rel=websocket
    RetryAfter:
      description: Seconds to wait before trying again.
      required: true
      schema: {type: integer, minimum: 0}
      example: 2

  responses:
    BadRequest:
      description: '`invalid_request`: the body is missing, larger than 1 MB, no JSON, or of another structure.'
      content:
        application/json:
          schema: {$ref: '#/components/schemas/MalformedRequest'}
          example: {id: invalid_request, code: 10, message: The request needs a body., url: 'https://chat.example.org/docs/errors#invalid_request', data: {}}
    Unauthorized:
      description: '`authentication_required`: no session, or it has ended. Sign in again with `data.nonce`.'
      content:
        application/json:
          schema: {$ref: '#/components/schemas/AuthenticationRequired'}
          example:
            {id: authentication_required, code: 4, message: Please sign in., url: 'https://chat.example.org/docs/errors#authentication_required', data: {nonce: AAABlUqv0xkXbV8m2m4Jt2gq1z0vXwq3c9kq7cQ}}
    Forbidden:
      description: '`access_denied`: known to the user, but not permitted, for example to a former participant.'
      content:
        application/json:
          schema: {$ref: '#/components/schemas/AccessDenied'}
          example:
            {id: access_denied, code: 101, message: You are not a participant of this conversation any more., url: 'https://chat.example.org/docs/errors#access_denied', data: {}}
    NotFound:
      description: '`not_found`: it does not exist, was deleted, or was never visible to the user. `invalid_endpoint`: there is no such path.'
      content:
        application/json:
          schema: {$ref: '#/components/schemas/NotFound'}
          example: {id: not_found, code: 102, message: No such conversation., url: 'https://chat.example.org/docs/errors#not_found', data: {}}
    NotAcceptable:
      description: '`invalid_header`: the header named in `data.header` is missing or not one that is served.'
      content:
        application/json:
          schema: {$ref: '#/components/schemas/InvalidHeader'}
          example:
            {id: invalid_header, code: 107, message: The Accept header must be application/vnd.layer+json; version=3.0 (or 2.0)., url: 'https://chat.example.org/docs/errors#invalid_header', data: {header: Accept}}
    Timeout:
      description: '`request_timeout`: the request took too long to arrive, and was not carried out. Cut off in the middle of a body, the answer may have none.'
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Error'}
          example: {id: request_timeout, code: 8, message: The request took too long., url: 'https://chat.example.org/docs/errors#request_timeout', data: {}}
    Unprocessable:
      description: '`missing_property`, `invalid_property`, or `invalid_operation`; `data.property` names what is wrong, such as `parts.0.mime_type`.'
      content:
        application/json:
          schema: {$ref: '#/components/schemas/InvalidInput'}
          example:
            {id: missing_property, code: 104, message: The property participants is required., url: 'https://chat.example.org/docs/errors#missing_property', data: {property: participants}}
    TooManyRequests:
      description: '`rate_limit_exceeded`: far more requests than any ordinary client sends, by this session or from this address.'
      headers: {Retry-After: {$ref: '#/components/headers/RetryAfter'}}
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Error'}
          example: {id: rate_limit_exceeded, code: 7, message: There are too many requests., url: 'https://chat.example.org/docs/errors#rate_limit_exceeded', data: {}}
    Unavailable:
      description: '`service_unavailable`: something the server depends on is away, or answered too late; in that case what was asked for may have happened all the same. Try again after `Retry-After` seconds, with the same id.'
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Error'}
          example:
            {id: service_unavailable, code: 1, message: 'The service is not available at the moment, please try again.', url: 'https://chat.example.org/docs/errors#service_unavailable', data: {}}

  schemas:
    Empty:
      type: object
      description: An object without members.
    Nonce:
      type: object
      required: [nonce]
      properties:
        nonce: {type: string, minLength: 16, description: To be put into the claim `nce` of an identity token.}
    SessionRequest:
      type: object
      required: [identity_token, app_id]
      properties:
        identity_token: {type: string, description: 'A compact JWS, signed by a key of the app.'}
        app_id: {type: string, description: 'The app, as `layer:///apps/production/<uuid>`, `layer:///apps/staging/<uuid>` or the UUID alone.'}
    Session:
      type: object
      required: [session_token]
      properties:
        session_token: {type: string, pattern: '^[A-Za-z0-9._-]{1,128}$', description: Keep it secret. Letters and digits and `.` `_` `-`.}
    PushToken:
      type: object
      required: [token, type, device_id]
      properties:
        token: {type: string, minLength: 1, maxLength: 4096, description: The token of the push service.}
        type: {type: string, enum: [apns, gcm], description: The push service.}
        device_id: {type: string, minLength: 1, maxLength: 4096, description: Stable name of the device.}
        apns_bundle_id: {type: string}
        gcm_sender_id: {type: string}
        ios_version: {type: string, description: Such as `16.4`.}

    IdentityID:
      type: string
      pattern: '^layer:///identities/.+$'
      description: '`layer:///identities/` and the user id, percent-encoded.'
    Timestamp:
      type: string
      format: date-time
      pattern: '^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$'
      description: Always UTC with milliseconds.
    BasicIdentity:
      type: object
      description: What is shown of a user where he is only mentioned. The sender of an announcement may be nobody's identity; then all but the name is null.
      required: [id, url, user_id, display_name, avatar_url]
      properties:
        id: {description: 'Null for a sender who is no user.', anyOf: [{$ref: '#/components/schemas/IdentityID'}, {type: 'null'}]}
        url: {type: [string, 'null'], description: Where the full identity is.}
        user_id: {type: [string, 'null'], description: "The app's own id of the user."}
        display_name: {type: [string, 'null'], description: Null until the app has told one.}
        avatar_url: {type: [string, 'null']}
        name: {type: string, description: Of a sender who is no user; the same as `display_name`.}
      examples:
        - {id: 'layer:///identities/ben', url: 'https://chat.example.org/identities/ben', user_id: ben, display_name: Ben Okoye, avatar_url: null}
    Identity:
      type: object
      description: Everything the app has told about a user.
      required: [id, url, user_id, display_name, avatar_url, first_name, last_name, phone_number, email_address, public_key, type, identity_type, metadata]
      properties:
        id: {$ref: '#/components/schemas/IdentityID'}
        url: {type: string, format: uri}
        user_id: {type: string, description: "The app's own id of the user, 1 to 128 bytes."}
        display_name: {type: [string, 'null']}
        avatar_url: {type: [string, 'null']}
        first_name: {type: [string, 'null']}
        last_name: {type: [string, 'null']}
        phone_number: {type: [string, 'null']}
        email_address: {type: [string, 'null']}
        public_key: {type: [string, 'null'], description: 'An RSA key, opaque to the server.'}
        type: {type: string, enum: [user, bot], description: The name client libraries read.}
        identity_type: {type: string, enum: [user, bot], description: The documented name of the same.}
        metadata: {type: object, maxProperties: 16, additionalProperties: {type: string}, description: 'At most 16 keys, without nesting.'}
        presence: {$ref: '#/components/schemas/Presence'}
      examples:
        - id: layer:///identities/ana
          url: https://chat.example.org/identities/ana
          user_id: ana
          display_name: Ana Silva
          avatar_url: https://cdn.example.org/ana.png
          first_name: Ana
          last_name: Silva
          phone_number: null
          email_address: null
          public_key: null
          type: user
          identity_type: user
          metadata: {team: blue}
    Presence:
      type: object
      description: Whether a user is there. `invisible` is shown to himself only.
      properties:
        status: {type: string, enum: [available, busy, away, offline, invisible]}
        last_seen_at: {description: Null if he was never seen., anyOf: [{$ref: '#/components/schemas/Timestamp'}, {type: 'null'}]}

    Metadata:
      type: object
      description: |
        Nested objects with strings as leaves. Keys are letters, digits, `-` and `_`; a value is at most 2048 bytes of UTF-8; at most 32 levels, and 1024 bytes for the
        keys of one path together. An empty object below the top is the same as none. `__proto__`, `constructor` and `prototype` are no keys: clients in JavaScript would
        walk by them into what all objects share.

        All of a conversation's metadata is at most 1 MB, unless the operator set something else (`STRATA_METADATA_MAX_BYTES`): the UTF-8 of each value and of its path, the keys
        joined by dots. What would let it grow beyond that is `422`, `invalid_property`, `data.property` = `metadata`, and changes nothing. Metadata that is larger already, since
        the limit was lowered, can still be changed in any way that does not let it grow.
      propertyNames: {pattern: '^[A-Za-z0-9_-]+$', not: {enum: [__proto__, constructor, prototype]}}
      additionalProperties:
        anyOf:
          - {type: string}
          - {$ref: '#/components/schemas/Metadata'}
      examples:
        - {title: Weekend trip, trip: {city: Porto}}
    Conversation:
      type: object
      description: A conversation as one user sees it.
      required: [id, url, messages_url, created_at, participants, distinct, last_message, unread_message_count, total_message_count, metadata, delivery_receipts, read_receipts, position, epoch]
      properties:
        id: {type: string, pattern: '^layer:///conversations/.+$'}
        url: {type: string, format: uri}
        messages_url: {type: string, format: uri}
        created_at: {$ref: '#/components/schemas/Timestamp'}
        participants:
          type: array
          description: Includes the user. Empty if he is no participant any more.
          items: {$ref: '#/components/schemas/BasicIdentity'}
        distinct: {type: boolean, description: Whether it is the one conversation of exactly these participants.}
        last_message:
          description: The newest message the user can see.
          anyOf: [{$ref: '#/components/schemas/Message'}, {type: 'null'}]
        unread_message_count: {type: integer, minimum: 0, description: 'Messages of others, visible to the user, that he has not read.'}
        total_message_count: {type: integer, minimum: 0, description: Messages the user can see.}
        metadata: {$ref: '#/components/schemas/Metadata'}
        delivery_receipts: {type: boolean, description: 'Ours: whether others are told of deliveries.'}
        read_receipts: {type: boolean, description: 'Ours: whether others are told of reading.'}
        position: {type: integer, minimum: 0, description: 'Ours: the last change of this conversation that the object contains. See `protocol.md`.'}
        epoch: {type: string, description: 'Ours: changes if the database was restored to an older state. See `protocol.md`.'}
      examples:
        - id: layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
          url: https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
          messages_url: https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01/messages
          created_at: '2018-05-04T09:30:00.125Z'
          participants:
            - {id: 'layer:///identities/ana', url: 'https://chat.example.org/identities/ana', user_id: ana, display_name: Ana Silva, avatar_url: null}
            - {id: 'layer:///identities/ben', url: 'https://chat.example.org/identities/ben', user_id: ben, display_name: Ben Okoye, avatar_url: null}
          distinct: true
          last_message: null
          unread_message_count: 0
          total_message_count: 0
          metadata: {title: Weekend trip}
          delivery_receipts: true
          read_receipts: true
          position: 1
          epoch: 5kq3
    NewConversation:
      type: object
      required: [participants]
      properties:
        participants:
          type: array
          description: |
            Identity ids, or user ids. The creator is added if he is missing, duplicates count once, and there may be 250 in all unless the operator set something else.
          items: {type: string, minLength: 1, maxLength: 400}
        distinct: {type: [boolean, 'null'], default: true}
        metadata: {description: Null is the same as none., anyOf: [{$ref: '#/components/schemas/Metadata'}, {type: 'null'}]}
        id: {type: [string, 'null'], description: 'A UUID, or a whole `layer:///conversations/` id, chosen by the client.'}
        delivery_receipts: {type: [boolean, 'null'], default: true, description: 'Off: deliveries are recorded, and nobody else is told or shown them.'}
        read_receipts: {type: [boolean, 'null'], default: true, description: 'The same about reading; the own unread count goes on as ever.'}
    ConversationPatch:
      type: array
      description: Operations on `participants` and on `metadata` and anything below it.
      items: {$ref: '#/components/schemas/PatchOperation'}
    PatchOperation:
      description: |
        One operation of a patch. Paths are segments with dots between them; a dot or backslash inside a segment is escaped with a backslash. A missing object on the
        way is made. `index` is not supported.
      oneOf:
        - title: add or remove a participant
          type: object
          required: [operation, property, id]
          properties:
            operation: {type: string, enum: [add, remove]}
            property: {type: string, const: participants}
            id: {type: string, minLength: 1, description: An identity id.}
        - title: set all participants
          type: object
          required: [operation, property, value]
          properties:
            operation: {type: string, const: set}
            property: {type: string, const: participants}
            value: {type: array, items: {type: string, minLength: 1}, description: Identity ids.}
        - title: set all metadata
          type: object
          required: [operation, property, value]
          properties:
            operation: {type: string, const: set}
            property: {type: string, const: metadata}
            value: {$ref: '#/components/schemas/Metadata'}
        - title: set a key of the metadata
          type: object
          required: [operation, property, value]
          properties:
            operation: {type: string, const: set}
            property: {type: string, pattern: '^metadata(\.[A-Za-z0-9_-]+)+$'}
            value: {description: A string or an object., anyOf: [{type: string}, {$ref: '#/components/schemas/Metadata'}]}
        - title: delete a key of the metadata
          type: object
          required: [operation, property]
          properties:
            operation: {type: string, const: delete}
            property: {type: string, pattern: '^metadata(\.[A-Za-z0-9_-]+)+$'}
    MarkAllRead:
      type: object
      properties:
        position: {type: [integer, 'null'], description: 'The `position` of the last message that was read; null, or nothing at all: everything.'}

    ConversationReference:
      type: object
      required: [id, url]
      properties:
        id: {type: string, pattern: '^layer:///conversations/.+$'}
        url: {type: string, format: uri}
    RecipientStatus:
      type: object
      description: |
        Identity id to how far the message came with that user. Those who were participants when it was sent, and those who came later, as `read`; the sender is always
        `read`. In a large conversation, and where a kind of receipts is switched off, everybody but the sender is shown the sender's and his own only.
      propertyNames: {$ref: '#/components/schemas/IdentityID'}
      additionalProperties: {type: string, enum: [sent, delivered, read]}
      examples:
        - {'layer:///identities/ana': read, 'layer:///identities/ben': sent}
    Message:
      type: object
      description: A message as one user sees it.
      required: [id, url, receipts_url, position, conversation, parts, sent_at, updated_at, sender, is_unread, recipient_status]
      properties:
        id: {type: string, pattern: '^layer:///messages/.+$'}
        url: {type: string, format: uri}
        receipts_url: {type: string, format: uri}
        position: {type: integer, minimum: 0, description: 'Orders the messages of a conversation: later is larger. Steps of 8192, with gaps.'}
        conversation: {$ref: '#/components/schemas/ConversationReference'}
        parts: {type: array, minItems: 1, items: {$ref: '#/components/schemas/MessagePart'}}
        sent_at: {$ref: '#/components/schemas/Timestamp'}
        received_at: {$ref: '#/components/schemas/Timestamp'}
        updated_at: {description: When a part was last changed; null if never., anyOf: [{$ref: '#/components/schemas/Timestamp'}, {type: 'null'}]}
        sender: {$ref: '#/components/schemas/BasicIdentity'}
        is_unread: {type: boolean, description: For the user who asks; false for the sender.}
        recipient_status: {$ref: '#/components/schemas/RecipientStatus'}
        notification: {$ref: '#/components/schemas/Notification'}
      examples:
        - id: layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10
          url: https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10
          receipts_url: https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/receipts
          position: 16384
          conversation:
            id: layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
            url: https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
          parts:
            - id: layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d
              url: https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d
              message_url: https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10
              mime_type: text/plain
              body: Train leaves at 8
              size: 17
          sent_at: '2018-05-04T09:31:10.480Z'
          updated_at: null
          sender: {id: 'layer:///identities/ana', url: 'https://chat.example.org/identities/ana', user_id: ana, display_name: Ana Silva, avatar_url: null}
          is_unread: false
          recipient_status: {'layer:///identities/ana': read, 'layer:///identities/ben': sent}
    MessagePart:
      type: object
      description: One piece of a message. It has a `body` or a `content`.
      required: [id, mime_type]
      properties:
        id: {type: string, pattern: '^layer:///(messages|announcements)/[^/]+/parts/.+$', description: '`<message id>/parts/` and the UUID (3.0) or the index (2.0).'}
        url: {type: string, format: uri, description: In 3.0.}
        message_url: {type: string, format: uri, description: In 3.0.}
        mime_type: {type: string, description: 'As it was sent, parameters included.'}
        body: {type: [string, 'null'], description: Inline content.}
        encoding: {type: string, const: base64, description: 'Present if the body is base64, which is passed on as it came.'}
        content: {$ref: '#/components/schemas/Content'}
        size: {type: integer, minimum: 0, description: Bytes of the decoded content.}
        updated_at: {description: When it was last changed., anyOf: [{$ref: '#/components/schemas/Timestamp'}, {type: 'null'}]}
    NewPart:
      type: object
      description: It has either a `body` of at most 2048 UTF-16 units (or 2048 decoded bytes of base64), or a `content`.
      required: [mime_type]
      properties:
        id: {type: [string, 'null'], description: '3.0: a UUID, or the whole id below that of the message, which is needed then. 2.0: ignored.'}
        mime_type: {type: string, minLength: 1}
        body: {type: [string, 'null'], maxLength: 2048}
        encoding: {type: [string, 'null'], enum: [base64, null]}
        content:
          anyOf:
            - {$ref: '#/components/schemas/ContentReference'}
            - {type: 'null'}
    ContentReference:
      type: object
      description: Content of the same app that was uploaded completely.
      required: [id]
      properties:
        id: {type: string, pattern: '^layer:///content/.+$'}
        size: {type: integer, minimum: 0, description: Bytes.}
    NewMessage:
      type: object
      required: [parts]
      properties:
        id: {type: [string, 'null'], description: 'A UUID, or a whole `layer:///messages/` id, chosen by the client.'}
        parts: {type: array, minItems: 1, maxItems: 1000, items: {$ref: '#/components/schemas/NewPart'}, description: All bodies together at most 256 KB.}
        notification: {anyOf: [{$ref: '#/components/schemas/Notification'}, {type: 'null'}]}
    Notification:
      type: object
      description: What devices show of a message. Anything else in it is passed on. Never a reason to refuse a message; over 16 KB it is dropped.
      properties:
        title: {type: string}
        text: {type: string}
        sound: {type: string}
        recipients: {type: object, description: Identity id to what is different for that user., additionalProperties: {type: object}}
    Receipt:
      type: object
      required: [type]
      properties:
        type: {type: string, enum: [read, delivery]}

    Content:
      type: object
      description: Bytes outside of a message.
      required: [id, size, download_url, expiration, refresh_url]
      properties:
        id: {type: string, pattern: '^layer:///content/.+$'}
        size: {type: integer, minimum: 0, description: Bytes.}
        upload_url: {type: [string, 'null'], description: Where to `PUT` the bytes; only in the answer to `POST /content`.}
        download_url: {type: [string, 'null'], description: Where to `GET` the bytes; null before they were uploaded.}
        expiration: {description: When `download_url` stops working., anyOf: [{$ref: '#/components/schemas/Timestamp'}, {type: 'null'}]}
        refresh_url: {type: string, format: uri, description: Where to `GET` this object anew.}
      examples:
        - id: layer:///content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11
          size: 48213
          download_url: https://chat.example.org/content/downloads/Vw2p…
          expiration: '2018-05-04T13:31:10.480Z'
          refresh_url: https://chat.example.org/content/7a0f9f0e-2c57-4d0c-8a55-0f3f5b7a9c11

    Announcement:
      type: object
      description: Like a message, without a conversation. `recipient_status` names the user who asks only.
      required: [id, url, receipts_url, position, parts, sent_at, sender, is_unread, recipient_status]
      properties:
        id: {type: string, pattern: '^layer:///announcements/.+$'}
        url: {type: string, format: uri}
        receipts_url: {type: string, format: uri}
        position: {type: integer, minimum: 0, description: "Orders the user's announcements: later is larger."}
        conversation: {type: 'null', description: Null or absent.}
        parts: {type: array, minItems: 1, items: {$ref: '#/components/schemas/MessagePart'}}
        sent_at: {$ref: '#/components/schemas/Timestamp'}
        updated_at: {type: 'null'}
        sender: {$ref: '#/components/schemas/BasicIdentity'}
        is_unread: {type: boolean}
        recipient_status: {$ref: '#/components/schemas/RecipientStatus'}
      examples:
        - id: layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55
          url: https://chat.example.org/announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55
          receipts_url: https://chat.example.org/announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55/receipts
          position: 8192
          conversation: null
          parts:
            - id: layer:///announcements/3b8c2c3e-3a70-4ab6-9fc1-9f7d3b0f1e55/parts/8f0e9b35-6b2c-4f6d-8f33-3f1c2a9d7e10
              mime_type: text/plain
              body: We will be down for five minutes at noon.
              size: 41
          sent_at: '2018-05-04T09:00:00.000Z'
          updated_at: null
          sender: {id: null, url: null, user_id: null, display_name: The operators, avatar_url: null, name: The operators}
          is_unread: true
          recipient_status: {'layer:///identities/ana': sent}

    Error:
      type: object
      description: The body of every answer that is no success. Go by `id`; everything else is for people.
      required: [id, code, message, url, data]
      properties:
        id: {$ref: '#/components/schemas/ErrorID'}
        code: {type: integer, description: The number that belongs to the id.}
        message: {type: string, description: 'An English sentence, which may change.'}
        url: {type: string, format: uri, description: Where the error is explained.}
        data: {type: object, description: 'What the id alone does not tell; `{}` if nothing.'}
    MalformedRequest:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - {properties: {id: {enum: [invalid_request, invalid_request_id]}}}
    AuthenticationRequired:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - properties:
            id: {const: authentication_required}
            data: {type: object, required: [nonce], properties: {nonce: {type: string, minLength: 16}}}
    SignInRefused:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - {properties: {id: {enum: [invalid_app_id, app_suspended, user_suspended]}}}
    AccessDenied:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - {properties: {id: {enum: [access_denied, app_suspended, user_suspended]}}}
    NotFound:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - {properties: {id: {enum: [not_found, invalid_endpoint]}}}
    InvalidHeader:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - properties:
            id: {const: invalid_header}
            data: {type: object, required: [header], properties: {header: {type: string}}}
    InvalidInput:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - properties:
            id: {enum: [missing_property, invalid_property, invalid_operation]}
            data: {type: object, properties: {property: {type: string, description: A dotted path with indices.}}}
    ConversationConflict:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - properties:
            id: {enum: [id_in_use, conflict]}
            data: {anyOf: [{$ref: '#/components/schemas/Conversation'}, {type: object, maxProperties: 0}]}
    MessageConflict:
      allOf:
        - {$ref: '#/components/schemas/Error'}
        - properties:
            id: {const: id_in_use}
            data: {anyOf: [{$ref: '#/components/schemas/Message'}, {type: object, maxProperties: 0}]}
    ErrorID:
      type: string
      description: What kind of error it is. Each is explained on the page of errors.
      oneOf:
        - const: service_unavailable
          x-code: 1
          x-status: 503
          description: Something the server depends on, such as its database, is away or overloaded.
          x-action: Try again, at first soon, then with growing pauses. A create should be repeated with the same id; a patch only if its effect is still wanted.
        - const: invalid_app_id
          x-code: 2
          x-status: 403
          description: The app named at sign-in does not exist.
          x-action: Check the app id the client was built with; `strata app list` shows those there are.
        - const: invalid_request_id
          x-code: 3
          x-status: 400
          description: An id in the request is no UUID. Reserved; Strata answers `not_found` or `invalid_property` instead.
          x-action: Send a UUID.
        - const: authentication_required
          x-code: 4
          x-status: 401
          description: There is no session, it has ended or expired, or its user was suspended. `data.nonce` is a fresh nonce.
          x-action: Have your server sign an identity token with `data.nonce`, exchange it at `POST /sessions`, and send the request again.
        - const: app_suspended
          x-code: 5
          x-status: 403
          description: The operator has suspended the app.
          x-action: Nothing the client can do. Ask the operator.
        - const: user_suspended
          x-code: 6
          x-status: 403
          description: The user is suspended and cannot sign in.
          x-action: Nothing the client can do. Ask the operator.
        - const: rate_limit_exceeded
          x-code: 7
          x-status: 429
          description: Far more requests than an ordinary client sends, by one session or from one address.
          x-action: Wait as long as the `Retry-After` header says. Look for a loop in the client.
        - const: request_timeout
          x-code: 8
          x-status: 408
          description: The request took too long. Whether it had an effect is unknown.
          x-action: Try again. Creates with an id of the client's are safe to repeat; before a patch, look at the object.
        - const: invalid_operation
          x-code: 9
          x-status: 422
          description: The operation makes no sense on this object, such as deleting `metadata` as a whole or the last part of a message; on a socket also a method that does not exist.
          x-action: A mistake in the client; `message` and `data.property` say which.
        - const: invalid_request
          x-code: 10
          x-status: 400
          description: The request is malformed, a body that is no JSON, for example, or larger than 1 MB, or of another structure than the endpoint's.
          x-action: A mistake in the client; compare with the endpoint's description.
        - const: internal_server_error
          x-code: 100
          x-status: 500
          description: Something unexpected went wrong on the server. It has logged the reason.
          x-action: Try again once; if it persists, tell the operator the time of the request.
        - const: access_denied
          x-code: 101
          x-status: 403
          description: The user knows the object but may not do this, as a former participant of the conversation, for example, or to somebody else's message.
          x-action: Load the object anew, and show the user what he still can do.
        - const: not_found
          x-code: 102
          x-status: 404
          description: The object does not exist, was deleted, or the user could never see it. It is not said which.
          x-action: Treat it as gone.
        - const: missing_property
          x-code: 104
          x-status: 422
          description: A required property, parameter or header is missing; `data.property` names it.
          x-action: A mistake in the client; send it.
        - const: invalid_property
          x-code: 105
          x-status: 422
          description: A property has a value that cannot be taken; `data.property` names it, with a path such as `parts.0.mime_type`. Also an identity token that is not good, whatever the reason.
          x-action: Correct the value. With `identity_token`, take a new nonce and have a new token signed; check the key, the provider id and the clock of the server that signs.
        - const: invalid_endpoint
          x-code: 106
          x-status: 404
          description: There is no such method and path.
          x-action: Check the URL, and the base URL the client was given.
        - const: invalid_header
          x-code: 107
          x-status: 406
          description: A header is missing or not one that is served; `data.header` names it, `Accept`, `Content-Type` or `Sec-WebSocket-Protocol`.
          x-action: 'Send `Accept: application/vnd.layer+json; version=3.0`, with a patch `Content-Type: application/vnd.layer-patch+json`, on a socket the subprotocol `layer-3.0`.'
        - const: conflict
          x-code: 108
          x-status: 409
          description: A distinct conversation with these participants exists and has other metadata; `data` is that conversation.
          x-action: Use the conversation in `data`, and patch its metadata if you may.
        - const: method_not_allowed
          x-code: 109
          x-status: 405
          description: The method is not allowed here. Reserved; Strata answers `invalid_endpoint`.
          x-action: Use a method the endpoint has.
        - const: id_in_use
          x-code: 111
          x-status: 409
          description: An object with this id exists; `data` is that object, or empty if the user may not see it.
          x-action: 'If `data.id` is the id you sent, an earlier try of yours succeeded: take `data` as the answer. Otherwise choose another id.'

"""##
    static let openAPIFile = File(openAPIText, contentType: "application/yaml; charset=utf-8", entityTag: "\"0e3f7fbddca70781\"")

    static let asyncAPIText: StaticString = ##"""
asyncapi: 3.0.0
id: urn:strata:client-api:websocket
info:
  title: Strata Client API, WebSocket
  version: '3.0'
  license: {name: Apache-2.0, url: 'https://www.apache.org/licenses/LICENSE-2.0'}
  externalDocs: {description: How to sync exactly, url: protocol.md}
  description: |
    The WebSocket half of the Client API as Strata serves it: what clients ask for over a socket, and how they are told of changes. The objects inside packets are those of
    the REST half, `openapi.yaml`; how a client keeps an exact copy of what the server holds is described in `protocol.md`.

    ## Handshake

    ```
    GET /?session_token=<token> HTTP/1.1
    Upgrade: websocket
    Sec-WebSocket-Protocol: layer-3.0
    ```

    The token of `POST /sessions` goes into the query, or into an `Authorization` header as in the REST half. `/websocket` is another name of the path. The subprotocol, `layer-3.0`
    or `layer-2.0`, is the version, and is named in the answer; of several, the first that is served is taken. A handshake without a subprotocol that is served is answered with `406`
    `invalid_header`, one without a good session with `401` `authentication_required`. Any `Origin` is accepted.

    **The server sends nothing of its own before the client's first packet, for two seconds.** That packet decides: `Event.replay` replays from the time it names; anything else makes the
    socket live, from ten seconds before it was opened, but not from before its session was made. A socket whose client says nothing goes live by itself after two seconds; until its client's first
    packet, its packets carry the time at which the session was made, or that at which the log begins if that is later.

    ## Envelope

    Every packet is one text frame with one JSON object, `type`, `body`, and from the server also `counter` and `timestamp`.

    `counter` is 0 for the first packet of a connection and one more for each packet after it, whatever its type. `timestamp` never goes back on a connection, and never lies after a
    change that is still owed to it: so whatever the last packet was, a replay from its timestamp misses nothing.

    ## Versions

    2.0 and 3.0 differ in the ids of message parts (index and UUID), and in how changed parts are told: to 3.0 as updates of the Message or the MessagePart, to 2.0 as a Message `create` with
    the whole new message, which clients merge by id.

    ## Limits

    A frame of the client's may have 1 MB. At most 256 requests of a socket wait or are worked on; beyond that they are answered with `service_unavailable`. A `request_id` may have 256 bytes.
    Far more requests than an ordinary client sends are answered with `rate_limit_exceeded`, and signals are dropped; if it goes on, the socket is closed with 1008.
    The server pings every 40 seconds, and closes a socket from which nothing, not even a pong, came for 120.
defaultContentType: application/json
servers:
  strata:
    host: chat.example.org
    protocol: wss
    description: The same host and port as the REST half.
    security: [{$ref: '#/components/securitySchemes/session'}]
channels:
  socket:
    address: /
    title: The socket
    description: One connection of one session. A user may have many.
    bindings:
      ws:
        method: GET
        query:
          type: object
          required: [session_token]
          properties:
            session_token: {type: string, description: Of `POST /sessions`. May stand in the Authorization header instead.}
            client-id: {type: string, description: Informational.}
            layer-xdk-version: {type: string, description: Informational.}
        headers:
          type: object
          required: [Sec-WebSocket-Protocol]
          properties:
            Sec-WebSocket-Protocol: {type: string, enum: [layer-3.0, layer-2.0]}
            Authorization: {type: string}
    messages:
      CounterRead: {$ref: '#/components/messages/CounterRead'}
      EventReplay: {$ref: '#/components/messages/EventReplay'}
      ConversationCreate: {$ref: '#/components/messages/ConversationCreate'}
      MessageCreate: {$ref: '#/components/messages/MessageCreate'}
      PresenceSubscribe: {$ref: '#/components/messages/PresenceSubscribe'}
      PresenceUnsubscribe: {$ref: '#/components/messages/PresenceUnsubscribe'}
      PresenceUpdate: {$ref: '#/components/messages/PresenceUpdate'}
      PresenceSync: {$ref: '#/components/messages/PresenceSync'}
      TypingSent: {$ref: '#/components/messages/TypingSent'}
      CounterReadResponse: {$ref: '#/components/messages/CounterReadResponse'}
      EventReplayResponse: {$ref: '#/components/messages/EventReplayResponse'}
      ConversationCreateResponse: {$ref: '#/components/messages/ConversationCreateResponse'}
      MessageCreateResponse: {$ref: '#/components/messages/MessageCreateResponse'}
      PresenceSyncResponse: {$ref: '#/components/messages/PresenceSyncResponse'}
      DoneResponse: {$ref: '#/components/messages/DoneResponse'}
      FailureResponse: {$ref: '#/components/messages/FailureResponse'}
      ConversationCreated: {$ref: '#/components/messages/ConversationCreated'}
      ConversationUpdated: {$ref: '#/components/messages/ConversationUpdated'}
      ConversationDeleted: {$ref: '#/components/messages/ConversationDeleted'}
      MessageCreated: {$ref: '#/components/messages/MessageCreated'}
      MessageUpdated: {$ref: '#/components/messages/MessageUpdated'}
      MessageDeleted: {$ref: '#/components/messages/MessageDeleted'}
      MessagePartUpdated: {$ref: '#/components/messages/MessagePartUpdated'}
      IdentityCreated: {$ref: '#/components/messages/IdentityCreated'}
      IdentityUpdated: {$ref: '#/components/messages/IdentityUpdated'}
      IdentityDeleted: {$ref: '#/components/messages/IdentityDeleted'}
      AnnouncementCreated: {$ref: '#/components/messages/AnnouncementCreated'}
      AnnouncementUpdated: {$ref: '#/components/messages/AnnouncementUpdated'}
      AnnouncementDeleted: {$ref: '#/components/messages/AnnouncementDeleted'}
      AllRead: {$ref: '#/components/messages/AllRead'}
      Typing: {$ref: '#/components/messages/Typing'}

operations:
  counterRead:
    action: receive
    title: Counter.read
    summary: Is anything missing?
    description: |
      Tells the counter of the last packet that was sent before this response, 0 if there was none. Also what a client sends when it has heard nothing for a while.
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/CounterRead'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/CounterReadResponse'}]
  eventReplay:
    action: receive
    title: Event.replay
    summary: Send everything again since a time
    description: |
      Every change for this user from `from_timestamp` on (the server goes back 30 seconds further) is sent again as ordinary packets, in order, with new counters and the times of the changes; then comes
      the response. Changes that are made meanwhile are part of it. What follows the response is live.

      `complete` is false if the log does not reach back that far: the client must load everything anew. An unsuccessful response means that nothing can be relied on; ask again after a
      pause. A second replay that is asked for while one runs takes its place, and the first is answered with `invalid_operation`.

      Typing and presence are never replayed. An object that has been deleted since is replayed as its deletion only. During a replay, changes carry no message counts: they are told
      once for each conversation, as they are now, before the response.
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/EventReplay'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/EventReplayResponse'}, {$ref: '#/channels/socket/messages/FailureResponse'}]
  conversationCreate:
    action: receive
    title: Conversation.create
    summary: Create a conversation
    description: |
      `data` is as for `POST /conversations`, and so are the rules. A distinct conversation that existed is a success with another id than the one sent. Creates of one socket are carried out one after the
      other, in the order in which they came.
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/ConversationCreate'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/ConversationCreateResponse'}, {$ref: '#/channels/socket/messages/FailureResponse'}]
  messageCreate:
    action: receive
    title: Message.create
    summary: Send a message
    description: '`object_id` names the conversation; `data` is as for `POST /conversations/{id}/messages`.'
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/MessageCreate'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/MessageCreateResponse'}, {$ref: '#/channels/socket/messages/FailureResponse'}]
  presenceSubscribe:
    action: receive
    title: Presence.subscribe
    summary: Be told of presence
    description: |
      Of those the user follows, and his own, until the socket closes or `Presence.unsubscribe`. Nothing is sent at once; ask with `Presence.sync` how things are.
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/PresenceSubscribe'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/DoneResponse'}, {$ref: '#/channels/socket/messages/FailureResponse'}]
  presenceUnsubscribe:
    action: receive
    title: Presence.unsubscribe
    summary: Not any more
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/PresenceUnsubscribe'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/DoneResponse'}]
  presenceUpdate:
    action: receive
    title: Presence.update
    summary: Set the own status
    description: |
      Of this connection; the user's status is the best of his connections'. `auto` is the last status the user chose, or `available`. Others see `invisible` as `offline`. A status goes some 30 seconds
      after its connection.
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/PresenceUpdate'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/DoneResponse'}, {$ref: '#/channels/socket/messages/FailureResponse'}]
  presenceSync:
    action: receive
    title: Presence.sync
    summary: How is everybody?
    description: The present status of certain users, at most 1000, or of those followed users whose status changed since a time. Always answered with `changes`, which may be empty.
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/PresenceSync'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/PresenceSyncResponse'}, {$ref: '#/channels/socket/messages/FailureResponse'}]
  typingSent:
    action: receive
    title: Typing, from a client
    summary: The user types, pauses, or has finished
    description: |
      A signal, which needs no answer; with a `request_id` there is one. Only heard from participants, otherwise dropped. Repeat a state while it lasts, every 2.5 seconds or so: 10 seconds after the last
      `started` the server itself says `paused`, and 10 more later `finished`. Sending a message is `finished`.
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/TypingSent'}]
    reply:
      channel: {$ref: '#/channels/socket'}
      messages: [{$ref: '#/channels/socket/messages/DoneResponse'}]
  changes:
    action: send
    title: Changes
    summary: What happened to the objects the user can see
    channel: {$ref: '#/channels/socket'}
    messages:
      - {$ref: '#/channels/socket/messages/ConversationCreated'}
      - {$ref: '#/channels/socket/messages/ConversationUpdated'}
      - {$ref: '#/channels/socket/messages/ConversationDeleted'}
      - {$ref: '#/channels/socket/messages/MessageCreated'}
      - {$ref: '#/channels/socket/messages/MessageUpdated'}
      - {$ref: '#/channels/socket/messages/MessageDeleted'}
      - {$ref: '#/channels/socket/messages/MessagePartUpdated'}
      - {$ref: '#/channels/socket/messages/IdentityCreated'}
      - {$ref: '#/channels/socket/messages/IdentityUpdated'}
      - {$ref: '#/channels/socket/messages/IdentityDeleted'}
      - {$ref: '#/channels/socket/messages/AnnouncementCreated'}
      - {$ref: '#/channels/socket/messages/AnnouncementUpdated'}
      - {$ref: '#/channels/socket/messages/AnnouncementDeleted'}
  bulk:
    action: send
    title: Operations
    summary: What happened to many objects at once
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/AllRead'}]
  signals:
    action: send
    title: Signals
    summary: What is never stored
    channel: {$ref: '#/channels/socket'}
    messages: [{$ref: '#/channels/socket/messages/Typing'}]

# A close frame carries words, too, of at most 123 bytes: for people, and without a promise to stay as they are.
x-close-codes:
  - {code: 1000, meaning: The client closed the socket.}
  - {code: 1001, meaning: 'The gateway restarts, the database has been put back to an older state, or the user was removed from a conversation before its counts were known.', action: 'Come back, and replay.'}
  - {code: 1002, meaning: What came was no WebSocket frame., action: A mistake in the client.}
  - {code: 1003, meaning: 'A frame could not be read: binary, no JSON, an unknown `type`, a request without `request_id`. A signal of an unknown type, or with an unknown action, is dropped instead.', action: A mistake in the client.}
  - {code: 1008, meaning: 'The client went on sending far more than it may.', action: Look for a loop in the client.}
  - {code: 1009, meaning: A frame was larger than 1 MB., action: A mistake in the client.}
  - {code: 1013, meaning: 'The client did not read, and too much waited for it; or its replay failed, and it did not ask again within 30 seconds; or there are more changes than a replay can bring.', action: 'Come back, and replay.'}
  - {code: 4401, meaning: 'The session has ended: signed out, expired, or the user was suspended.', action: 'Sign in again; `GET /` with the old session answers `401` with a nonce.'}
  - {code: 4408, meaning: Nothing was heard of the client for 120 seconds., action: 'Come back, and replay.'}
x-ordering:
  - The `create` of an object comes before any `update` of it.
  - The Message `create` comes before the Conversation `update` that names the message as `last_message`.
  - Changes of one conversation come in the order in which they were committed, by `position`; its messages in theirs.
  - The response to a create comes before the change it caused, on the connection that asked.
  - Replayed packets come before the response to the replay.
  - Between one replay and the next, no change of a conversation comes twice.
  - Nothing is promised about the order between different conversations, or between packets and answers over REST.
x-fan-out:
  - {action: A conversation is created, own: Conversation create, others: Conversation create}
  - {action: A distinct conversation is found, own: 'Nothing; Conversation create if the user had deleted it from his devices', others: Nothing}
  - {action: Participants are added or removed, own: Conversation update, others: 'Conversation update, also to those removed; to those added Conversation create'}
  - {action: Metadata is patched, own: 'Conversation update, with what had an effect', others: The same}
  - {action: A conversation is deleted for all, own: Conversation delete, others: Conversation delete}
  - {action: A conversation is deleted from the own devices, own: Conversation delete, others: 'Nothing; with `leave`, Conversation update'}
  - {action: A message is sent, own: 'Message create, Conversation update', others: 'Message create with `notification`, Conversation update'}
  - {action: A conversation that was deleted from the own devices gets a message, own: 'Conversation create, Message create, Conversation update', others: As for any message}
  - {action: A message is delivered, own: Message update, others: 'Message update; in a large conversation, or where one kind is switched off, to the sender of the message only; none if this kind is'}
  - {action: A message is read, own: 'Message update, Conversation update with `unread_message_count`', others: 'Message update; in a large conversation, or where one kind is switched off, to the sender of the message only; none if this kind is'}
  - {action: Everything is marked as read, own: 'The operation, Conversation update with `unread_message_count`', others: 'The operation, under the same conditions, to the senders of what was read'}
  - {action: A message is deleted for all, own: 'Message delete, Conversation update with counts and, if changed, `last_message`', others: 'The same, with their own counts'}
  - {action: A message is deleted from the own devices, own: 'Message delete, Conversation update', others: Nothing}
  - {action: Parts of a message are changed, own: 'MessagePart update of each that was, Message update; to 2.0 Message create', others: The same}
  - {action: Somebody types, own: Nothing, others: Signal}
  - {action: An identity changes, own: Identity update, others: 'Identity update, to those who follow him'}
  - {action: Somebody is followed or unfollowed, own: Identity create or delete, others: Nothing}
  - {action: Presence changes, own: 'Identity update, to subscribed sockets', others: 'Identity update, to subscribed sockets of those who follow him'}
  - {action: An announcement is sent, own: Announcement create, others: Nothing}
  - {action: An announcement is read or removed, own: Announcement update or delete, others: Nothing}

components:
  securitySchemes:
    session:
      type: httpApiKey
      in: query
      name: session_token
      description: The token of `POST /sessions`.

  messages:
    CounterRead:
      title: Counter.read
      payload: {$ref: '#/components/schemas/Request'}
      examples: [{payload: {type: request, body: {request_id: r4, method: Counter.read}}}]
    EventReplay:
      title: Event.replay
      payload:
        allOf:
          - {$ref: '#/components/schemas/Request'}
          - properties:
              body:
                required: [data]
                properties:
                  data:
                    type: object
                    required: [from_timestamp]
                    properties:
                      from_timestamp: {type: string, description: 'ISO 8601: the `timestamp` of the last packet the client got, of whatever kind.'}
      examples: [{payload: {type: request, body: {request_id: r1, method: Event.replay, data: {from_timestamp: '2018-05-04T09:31:10.480Z'}}}}]
    ConversationCreate:
      title: Conversation.create
      payload:
        allOf:
          - {$ref: '#/components/schemas/Request'}
          - properties: {body: {required: [data], properties: {data: {$ref: 'openapi.yaml#/components/schemas/NewConversation'}}}}
      examples:
        - payload:
            type: request
            body:
              request_id: r5
              method: Conversation.create
              data: {id: 'layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01', participants: ['layer:///identities/ben'], distinct: true}
    MessageCreate:
      title: Message.create
      payload:
        allOf:
          - {$ref: '#/components/schemas/Request'}
          - properties:
              body:
                required: [object_id, data]
                properties:
                  object_id: {type: string, description: The id of the conversation.}
                  data: {$ref: 'openapi.yaml#/components/schemas/NewMessage'}
      examples:
        - payload:
            type: request
            body:
              request_id: r6
              method: Message.create
              object_id: layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
              data: {id: 'layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10', parts: [{mime_type: text/plain, body: Train leaves at 8}]}
    PresenceSubscribe:
      title: Presence.subscribe
      payload: {$ref: '#/components/schemas/Request'}
      examples: [{payload: {type: request, body: {request_id: r2, method: Presence.subscribe}}}]
    PresenceUnsubscribe:
      title: Presence.unsubscribe
      payload: {$ref: '#/components/schemas/Request'}
      examples: [{payload: {type: request, body: {request_id: r9, method: Presence.unsubscribe}}}]
    PresenceUpdate:
      title: Presence.update
      payload:
        allOf:
          - {$ref: '#/components/schemas/Request'}
          - properties:
              body:
                required: [data]
                properties:
                  data:
                    type: array
                    items:
                      type: object
                      required: [operation, property, value]
                      properties:
                        operation: {const: set}
                        property: {const: status}
                        value: {type: string, enum: [available, busy, away, offline, invisible, auto]}
      examples: [{payload: {type: request, body: {request_id: r3, method: Presence.update, data: [{operation: set, property: status, value: auto}]}}}]
    PresenceSync:
      title: Presence.sync
      payload:
        allOf:
          - {$ref: '#/components/schemas/Request'}
          - properties:
              body:
                required: [data]
                properties:
                  data:
                    type: object
                    description: One of the two.
                    properties:
                      ids: {type: array, items: {type: string}, description: Identity ids.}
                      since: {type: string, description: 'ISO 8601.'}
      examples: [{payload: {type: request, body: {request_id: r7, method: Presence.sync, data: {ids: ['layer:///identities/ben']}}}}]
    TypingSent:
      title: typing_indicator, from a client
      payload:
        type: object
        required: [type, body]
        properties:
          type: {const: signal}
          body:
            type: object
            required: [type, object, data]
            properties:
              type: {const: typing_indicator}
              request_id: {type: string, description: 'If there, the signal is answered.'}
              object: {type: object, required: [id], properties: {id: {type: string, description: The id of the conversation.}}}
              data: {type: object, required: [action], properties: {action: {$ref: '#/components/schemas/TypingAction'}}}
      examples:
        - payload:
            type: signal
            body: {type: typing_indicator, object: {id: 'layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01'}, data: {action: started}}

    CounterReadResponse:
      title: Response to Counter.read
      payload:
        allOf:
          - {$ref: '#/components/schemas/Success'}
          - properties: {body: {required: [data], properties: {data: {type: object, required: [counter], properties: {counter: {type: integer, minimum: 0}}}}}}
      examples:
        - payload: {type: response, counter: 12, timestamp: '2018-05-04T09:31:40.001Z', body: {request_id: r4, method: Counter.read, success: true, data: {counter: 11}}}
    EventReplayResponse:
      title: Response to Event.replay
      payload:
        allOf:
          - {$ref: '#/components/schemas/Success'}
          - properties:
              body:
                required: [data]
                properties:
                  data:
                    type: object
                    required: [complete]
                    properties:
                      complete: {type: boolean, description: 'Ours: whether everything since then was replayed.'}
      examples:
        - payload: {type: response, counter: 31, timestamp: '2018-05-04T10:02:00.310Z', body: {request_id: r1, method: Event.replay, success: true, data: {complete: true}}}
    ConversationCreateResponse:
      title: Response to Conversation.create
      payload:
        allOf:
          - {$ref: '#/components/schemas/Success'}
          - properties: {body: {required: [data], properties: {data: {$ref: 'openapi.yaml#/components/schemas/Conversation'}}}}
    MessageCreateResponse:
      title: Response to Message.create
      payload:
        allOf:
          - {$ref: '#/components/schemas/Success'}
          - properties: {body: {required: [data], properties: {data: {$ref: 'openapi.yaml#/components/schemas/Message'}}}}
    PresenceSyncResponse:
      title: Response to Presence.sync
      payload:
        allOf:
          - {$ref: '#/components/schemas/Success'}
          - properties:
              body:
                required: [data]
                properties:
                  data:
                    type: object
                    required: [changes]
                    properties:
                      changes:
                        type: array
                        items:
                          type: object
                          required: [operation, object, data]
                          properties:
                            operation: {const: update}
                            object: {$ref: '#/components/schemas/ObjectReference'}
                            data: {type: array, items: {$ref: '#/components/schemas/PresenceOperation'}}
      examples:
        - payload:
            type: response
            counter: 14
            timestamp: '2018-05-04T09:31:41.220Z'
            body:
              request_id: r7
              method: Presence.sync
              success: true
              data:
                changes:
                  - operation: update
                    object: {type: Identity, id: 'layer:///identities/ben', url: 'https://chat.example.org/identities/ben'}
                    data:
                      - {operation: set, property: presence.status, value: away}
                      - {operation: set, property: presence.last_seen_at, value: '2018-05-04T09:20:00.000Z'}
    DoneResponse:
      title: Response of a method that has nothing to tell
      payload: {$ref: '#/components/schemas/Success'}
      examples: [{payload: {type: response, counter: 2, timestamp: '2018-05-04T09:31:09.100Z', body: {request_id: r2, method: Presence.subscribe, success: true, data: {}}}}]
    FailureResponse:
      title: Response of a request that was refused
      summary: '`data` is an error object, as over REST. Never `authentication_required`: the socket is closed with 4401 instead.'
      payload:
        type: object
        required: [type, counter, timestamp, body]
        properties:
          type: {const: response}
          counter: {$ref: '#/components/schemas/Counter'}
          timestamp: {$ref: 'openapi.yaml#/components/schemas/Timestamp'}
          body:
            type: object
            required: [request_id, method, success, data]
            properties:
              request_id: {type: string}
              method: {type: string}
              success: {const: false}
              data: {$ref: 'openapi.yaml#/components/schemas/Error'}
      examples:
        - payload:
            type: response
            counter: 15
            timestamp: '2018-05-04T09:31:42.000Z'
            body:
              request_id: r8
              method: Message.create
              success: false
              data:
                {id: missing_property, code: 104, message: The property parts is required., url: 'https://chat.example.org/docs/errors#missing_property', data: {property: parts}}

    ConversationCreated:
      title: Conversation create
      summary: A conversation is new to the user, or was deleted from his devices and is back. `data` is the whole object.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: create}
                  object: {properties: {type: {const: Conversation}}}
                  data: {$ref: 'openapi.yaml#/components/schemas/Conversation'}
    ConversationUpdated:
      title: Conversation update
      summary: Participants, metadata, the last message, or the user's counts. Operations that belong together come in one packet.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: update}
                  object: {properties: {type: {const: Conversation}}}
                  data: {type: array, items: {$ref: '#/components/schemas/ConversationOperation'}}
      examples:
        - name: metadata
          payload:
            type: change
            counter: 9
            timestamp: '2018-05-04T09:31:10.480Z'
            body:
              operation: update
              object: &conversation
                type: Conversation
                id: layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
                url: https://chat.example.org/conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01
              position: 7
              data:
                - {operation: set, property: metadata.trip.city, value: Porto}
                - {operation: delete, property: metadata.trip.hotel}
        - name: participants
          payload:
            type: change
            counter: 10
            timestamp: '2018-05-04T09:32:00.020Z'
            body:
              operation: update
              object: *conversation
              position: 8
              data:
                - {operation: remove, property: participants, id: 'layer:///identities/ben'}
                - operation: add
                  property: participants
                  id: layer:///identities/cleo
                  value: {id: 'layer:///identities/cleo', url: 'https://chat.example.org/identities/cleo', user_id: cleo, display_name: null, avatar_url: null}
                - {operation: set, property: distinct, value: false}
    ConversationDeleted:
      title: Conversation delete
      summary: |
        Gone for all, or from the user's devices. With a `from_position` only the messages up to there go, and the conversation stays.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: delete}
                  object: {properties: {type: {const: Conversation}}}
                  data:
                    type: object
                    required: [mode, from_position]
                    properties:
                      mode: {type: string, enum: [all_participants, my_devices]}
                      from_position: {type: [integer, 'null'], description: 'Null: the conversation goes. Otherwise a `position` of messages.'}
      examples:
        - payload:
            type: change
            counter: 11
            timestamp: '2018-05-04T09:33:00.700Z'
            body: {operation: delete, object: *conversation, user_position: 4, data: {mode: my_devices, from_position: null}}
    MessageCreated:
      title: Message create
      summary: A message is new, or, to 2.0, was changed. `notification` is there for those who have not read it.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: create}
                  object: {properties: {type: {const: Message}}}
                  data: {$ref: 'openapi.yaml#/components/schemas/Message'}
    MessageUpdated:
      title: Message update
      summary: How far the message came with somebody, or (3.0) other parts. There is none for `is_unread`, which follows from the own status.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: update}
                  object: {properties: {type: {const: Message}}}
                  conversation: {$ref: '#/components/schemas/ConversationName'}
                  data: {type: array, items: {$ref: '#/components/schemas/MessageOperation'}}
      examples:
        - payload:
            type: change
            counter: 12
            timestamp: '2018-05-04T09:34:00.000Z'
            body:
              operation: update
              object: &messageObject
                type: Message
                id: layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10
                url: https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10
              position: 9
              conversation: {id: 'layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01'}
              data: [{operation: set, property: 'recipient_status.layer:///identities/ben\.okoye', value: read}]
    MessageDeleted:
      title: Message delete
      summary: For all, or from the user's devices.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: delete}
                  object: {properties: {type: {const: Message}}}
                  conversation: {$ref: '#/components/schemas/ConversationName'}
                  data: {type: object, required: [mode], properties: {mode: {type: string, enum: [all_participants, my_devices]}}}
      examples:
        - payload:
            type: change
            counter: 13
            timestamp: '2018-05-04T09:35:00.000Z'
            body:
              operation: delete
              object: *messageObject
              position: 10
              conversation: {id: 'layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01'}
              data: {mode: all_participants}
    MessagePartUpdated:
      title: MessagePart update
      summary: 'One part has other content, all of which is told. To 3.0 only. A Message update of `updated_at` follows.'
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: update}
                  object: {properties: {type: {const: MessagePart}}}
                  conversation: {$ref: '#/components/schemas/ConversationName'}
                  data: {type: array, items: {$ref: '#/components/schemas/PartOperation'}}
      examples:
        - payload:
            type: change
            counter: 14
            timestamp: '2018-05-04T10:00:05.000Z'
            body:
              operation: update
              object:
                type: MessagePart
                id: layer:///messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d
                url: https://chat.example.org/messages/0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10/parts/5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d
              position: 11
              conversation: {id: 'layer:///conversations/6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01'}
              data:
                - {operation: set, property: mime_type, value: text/plain}
                - {operation: set, property: body, value: Train leaves at 9}
                - {operation: set, property: encoding, value: null}
                - {operation: set, property: content, value: null}
                - {operation: set, property: size, value: 17}
                - {operation: set, property: updated_at, value: '2018-05-04T10:00:05.000Z'}
    IdentityCreated:
      title: Identity create
      summary: The user follows somebody, by another of his devices, or this one. Following that a new conversation implies is not announced.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: create}
                  object: {properties: {type: {const: Identity}}}
                  data: {$ref: 'openapi.yaml#/components/schemas/Identity'}
    IdentityUpdated:
      title: Identity update
      summary: The user himself, or somebody he follows, signed in with other details; or, to sockets that subscribed, presence.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: update}
                  object: {properties: {type: {const: Identity}}}
                  data: {type: array, items: {$ref: '#/components/schemas/IdentityOperation'}}
      examples:
        - payload:
            type: change
            counter: 15
            timestamp: '2018-05-04T10:01:00.000Z'
            body:
              operation: update
              object: &identityObject {type: Identity, id: 'layer:///identities/ben', url: 'https://chat.example.org/identities/ben'}
              user_position: 5
              data: [{operation: set, property: display_name, value: Ben O.}]
    IdentityDeleted:
      title: Identity delete
      summary: The user does not follow somebody any more.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: delete}
                  object: {properties: {type: {const: Identity}}}
                  data: {type: 'null'}
      examples:
        - payload: {type: change, counter: 16, timestamp: '2018-05-04T10:01:30.000Z', body: {operation: delete, object: *identityObject, user_position: 6, data: null}}
    AnnouncementCreated:
      title: Announcement create
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: create}
                  object: {properties: {type: {const: Announcement}}}
                  data: {$ref: 'openapi.yaml#/components/schemas/Announcement'}
    AnnouncementUpdated:
      title: Announcement update
      summary: The user has read it, or got it, on one of his devices.
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: update}
                  object: {properties: {type: {const: Announcement}}}
                  data: {type: array, items: {$ref: '#/components/schemas/StatusOperation'}}
    AnnouncementDeleted:
      title: Announcement delete
      payload:
        allOf:
          - {$ref: '#/components/schemas/Change'}
          - properties:
              body:
                properties:
                  operation: {const: delete}
                  object: {properties: {type: {const: Announcement}}}
                  data: {type: object, required: [mode], properties: {mode: {const: my_devices}}}
    AllRead:
      title: Conversation.mark_all_read
      summary: |
        `identity` has read every message of the conversation up to `data.position`, a position of messages. To the user himself a Conversation update with his count follows.
      payload:
        type: object
        required: [type, counter, timestamp, body]
        properties:
          type: {const: operation}
          counter: {$ref: '#/components/schemas/Counter'}
          timestamp: {$ref: 'openapi.yaml#/components/schemas/Timestamp'}
          body:
            type: object
            required: [method, object, position, data]
            properties:
              method: {const: Conversation.mark_all_read}
              object: {$ref: '#/components/schemas/ObjectReference'}
              position: {$ref: '#/components/schemas/Position'}
              data:
                type: object
                required: [position, identity]
                properties:
                  position: {type: integer}
                  identity: {type: object, required: [id], properties: {id: {type: string}}}
      examples:
        - payload:
            type: operation
            counter: 17
            timestamp: '2018-05-04T09:40:00.000Z'
            body: {method: Conversation.mark_all_read, object: *conversation, position: 12, data: {position: 81920, identity: {id: 'layer:///identities/ben'}}}
    Typing:
      title: typing_indicator
      summary: To all other participants who have a socket that keeps up. Never stored, never replayed.
      payload:
        type: object
        required: [type, counter, timestamp, body]
        properties:
          type: {const: signal}
          counter: {$ref: '#/components/schemas/Counter'}
          timestamp: {$ref: 'openapi.yaml#/components/schemas/Timestamp'}
          body:
            type: object
            required: [type, object, data]
            properties:
              type: {const: typing_indicator}
              object: {$ref: '#/components/schemas/ObjectReference'}
              data:
                type: object
                required: [sender, action]
                properties:
                  sender: {$ref: 'openapi.yaml#/components/schemas/BasicIdentity'}
                  action: {$ref: '#/components/schemas/TypingAction'}
      examples:
        - payload:
            type: signal
            counter: 18
            timestamp: '2018-05-04T09:41:00.000Z'
            body:
              type: typing_indicator
              object: *conversation
              data:
                sender: {id: 'layer:///identities/ana', url: 'https://chat.example.org/identities/ana', user_id: ana, display_name: Ana Silva, avatar_url: null}
                action: started

  schemas:
    Counter: {type: integer, minimum: 0, description: '0, 1, 2, … on each connection.'}
    Position: {type: integer, minimum: 1, description: 'Ours: the place of the change in the order of its conversation.'}
    TypingAction: {type: string, enum: [started, paused, finished]}
    Request:
      type: object
      description: What a client asks for. Every request gets exactly one response.
      required: [type, body]
      properties:
        type: {const: request}
        body:
          type: object
          required: [request_id, method]
          properties:
            request_id: {type: string, description: 'Any text; comes back in the response.'}
            method: {type: string, enum: [Counter.read, Event.replay, Conversation.create, Message.create, Presence.subscribe, Presence.unsubscribe, Presence.update, Presence.sync]}
            object_id: {type: string, description: 'What it is about, where the method says so.'}
            data: {description: What belongs to the method.}
    Success:
      type: object
      description: The response to a request that was carried out.
      required: [type, counter, timestamp, body]
      properties:
        type: {const: response}
        counter: {$ref: '#/components/schemas/Counter'}
        timestamp: {$ref: 'openapi.yaml#/components/schemas/Timestamp'}
        body:
          type: object
          required: [request_id, method, success, data]
          properties:
            request_id: {type: string, description: That of the request.}
            method: {type: string, description: That of the request.}
            success: {const: true}
            data: {type: object}
    ObjectReference:
      type: object
      required: [type, id, url]
      properties:
        type: {type: string, enum: [Conversation, Message, MessagePart, Identity, Announcement]}
        id: {type: string}
        url: {type: string}
    ConversationName:
      type: object
      description: 'Ours: the conversation the message belongs to.'
      required: [id]
      properties: {id: {type: string}}
    Change:
      type: object
      description: |
        Tells that an object was created, updated or deleted. `position` is there if the change belongs to a conversation, `user_position` if it belongs to the user alone; presence has neither.
      required: [type, counter, timestamp, body]
      properties:
        type: {const: change}
        counter: {$ref: '#/components/schemas/Counter'}
        timestamp: {$ref: 'openapi.yaml#/components/schemas/Timestamp'}
        body:
          type: object
          required: [operation, object, data]
          properties:
            operation: {type: string, enum: [create, update, delete]}
            object: {$ref: '#/components/schemas/ObjectReference'}
            position: {$ref: '#/components/schemas/Position'}
            user_position: {type: integer, minimum: 1, description: "Ours: the place of the change in the user's own log."}
            data: {description: 'The object, operations on it, or how it was deleted.'}
    ConversationOperation:
      description: What an update of a conversation consists of.
      oneOf:
        - title: a participant left or was removed
          type: object
          required: [operation, property, id]
          properties: {operation: {const: remove}, property: {const: participants}, id: {type: string}}
        - title: a participant came
          type: object
          required: [operation, property, id, value]
          properties: {operation: {const: add}, property: {const: participants}, id: {type: string}, value: {$ref: 'openapi.yaml#/components/schemas/BasicIdentity'}}
        - title: a key of the metadata was set
          type: object
          required: [operation, property, value]
          properties: {operation: {const: set}, property: {type: string, pattern: '^metadata\.'}, value: {type: string}}
        - title: a key of the metadata, and all below it, was deleted
          type: object
          required: [operation, property]
          properties: {operation: {const: delete}, property: {type: string, pattern: '^metadata\.'}}
        - title: the metadata was emptied
          type: object
          required: [operation, property, value]
          properties: {operation: {const: set}, property: {const: metadata}, value: {type: object, maxProperties: 0}}
        - title: not distinct any more
          type: object
          required: [operation, property, value]
          properties: {operation: {const: set}, property: {const: distinct}, value: {const: false}}
        - title: another last message
          type: object
          required: [operation, property, id, value]
          properties: {operation: {const: set}, property: {const: last_message}, id: {type: string}, value: {$ref: 'openapi.yaml#/components/schemas/Message'}}
        - title: no message any more
          type: object
          required: [operation, property, value]
          properties: {operation: {const: set}, property: {const: last_message}, value: {type: 'null'}}
        - title: the user's counts
          type: object
          required: [operation, property, value]
          properties: {operation: {const: set}, property: {enum: [unread_message_count, total_message_count]}, value: {type: integer, minimum: 0}}
    StatusOperation:
      type: object
      description: '`recipient_status.` and an identity id, in which dots and backslashes are escaped with a backslash.'
      required: [operation, property, value]
      properties:
        operation: {const: set}
        property: {type: string, pattern: '^recipient_status\.layer:///identities/.+$'}
        value: {type: string, enum: [sent, delivered, read]}
    MessageOperation:
      description: What an update of a message consists of.
      oneOf:
        - {$ref: '#/components/schemas/StatusOperation'}
        - title: a part came
          type: object
          required: [operation, property, id, value]
          properties: {operation: {const: add}, property: {const: parts}, id: {type: string}, value: {$ref: 'openapi.yaml#/components/schemas/MessagePart'}}
        - title: a part was removed
          type: object
          required: [operation, property, id]
          properties: {operation: {const: remove}, property: {const: parts}, id: {type: string}}
        - title: all parts were replaced
          type: object
          required: [operation, property, value]
          properties: {operation: {const: set}, property: {const: parts}, value: {type: array, items: {$ref: 'openapi.yaml#/components/schemas/MessagePart'}}}
        - title: when
          type: object
          required: [operation, property, value]
          properties: {operation: {const: set}, property: {const: updated_at}, value: {type: string}}
    PartOperation:
      type: object
      description: 'What an update of a part consists of. Null: it has none any more.'
      required: [operation, property, value]
      properties:
        operation: {const: set}
        property: {enum: [body, mime_type, encoding, content, size, updated_at]}
        value: {}
    PresenceOperation:
      type: object
      required: [operation, property, value]
      properties:
        operation: {const: set}
        property: {enum: [presence.status, presence.last_seen_at]}
        value: {type: [string, 'null'], description: 'A status, or a time.'}
    IdentityOperation:
      description: What an update of an identity consists of.
      oneOf:
        - title: a detail
          type: object
          required: [operation, property, value]
          properties:
            operation: {const: set}
            property: {enum: [display_name, avatar_url, first_name, last_name, phone_number, email_address, public_key, type, identity_type]}
            value: {type: [string, 'null']}
        - title: all metadata
          type: object
          required: [operation, property, value]
          properties: {operation: {const: set}, property: {const: metadata}, value: {type: object, additionalProperties: {type: string}}}
        - {$ref: '#/components/schemas/PresenceOperation'}

"""##
    static let asyncAPIFile = File(asyncAPIText, contentType: "application/yaml; charset=utf-8", entityTag: "\"abfe5e7afee3c3a6\"")
}
