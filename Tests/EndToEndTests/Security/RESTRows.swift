// SPDX-License-Identifier: Apache-2.0

/// All routes of a gateway, with the expected outcome for each caller.
enum RESTRows {
    static let all =
        open + sessions + own + conversations + conversationChanges + messages + parts + content + announcements
        + people

    private static let notFound = "404 not_found"
    private static let denied = "403 access_denied"
    private static let part = #"{"mime_type":"text/plain","body":"new"}"#

    // MARK: For all callers

    private static let documents = [
        "/docs", "/docs/errors", "/docs/openapi.yaml", "/docs/asyncapi.yaml", "/docs/server-openapi.yaml",
    ]
    .flatMap { path in
        ["GET", "HEAD"].map { RESTRow($0, path, path, everybody: path == "/docs" ? "308" : "200") }
    } + ["GET", "HEAD"].map { RESTRow($0, "/client/:file", "/client/strata.js", everybody: "200") }

    /// A presented session is checked even on routes that need none.
    private static let ifShown: [Who: String] = Dictionary(
        uniqueKeysWithValues: Who.allCases.filter { !$0.isSignedIn && $0 != .noSession }.map { ($0, $0.refusal) })

    private static let open: [RESTRow] =
        documents + [
            RESTRow("GET", "/", "/", "the session check", everybody: "200", except: ifShown),
            RESTRow("GET", "/websocket", "/websocket", "the session check", everybody: "200", except: ifShown),
            RESTRow("HEAD", "/", "/", everybody: "200"), RESTRow("HEAD", "/ping", "/ping", everybody: "200"),
            RESTRow("GET", "/ping", "/ping", everybody: "200"), RESTRow("POST", "/nonces", "/nonces", everybody: "201"),
        ]

    // MARK: Sessions and what belongs to one user

    private static let sessions: [RESTRow] = [
        RESTRow(
            "POST", "/sessions", "/sessions", "an identity token that is none",
            body: #"{"app_id":"layer:///apps/production/{new}","identity_token":"a.b.c"}"#,
            everybody: "422 invalid_property"),
        RESTRow(
            "DELETE", "/sessions/:token", "/sessions/{spare}", "another user's token", everybody: denied,
            // A caller who knows a token and presents no other session ends that token's session.
            except: [.noSession: "204"]),
        RESTRow(
            "DELETE", "/sessions/:token", "/sessions/{new}", "a token that is none", everybody: denied,
            except: [.noSession: "204"]),
    ]

    private static let own: [RESTRow] = [
        RESTRow(
            "POST", "/push_tokens", "/push_tokens",
            body: #"{"token":"00ff","type":"apns","device_id":"d-{new}","apns_bundle_id":"org.example"}"#,
            sender: "202", participant: "202", former: "202", stranger: "202"),
        RESTRow(
            "DELETE", "/push_tokens/:device", "/push_tokens/d-{new}", sender: "202", participant: "202", former: "202",
            stranger: "202"),
        RESTRow("GET", "/channels", "/channels", sender: "200", participant: "200", former: "200", stranger: "200"),
    ]

    // MARK: Conversations

    private static let conversations: [RESTRow] = [
        RESTRow(
            "GET", "/conversations", "/conversations", sender: "200, shown later too",
            participant: "200, shown later too", former: "200, shown",
            stranger: "200"),
        RESTRow(
            "GET", "/conversations", "/conversations?sort_by=last_message&page_size=1", "the newest",
            sender: "200, shown later too",
            participant: "200, shown later too", former: "200, shown", stranger: "200"),
        RESTRow(
            "GET", "/conversations", "/conversations?from_id={conversation}", "from this one on", sender: "200",
            participant: "200", former: "200",
            stranger: "422 invalid_property"),
        RESTRow(
            "POST", "/conversations", "/conversations", "with another user",
            body: #"{"participants":["layer:///identities/new-{new}"],"distinct":false}"#, sender: "201",
            participant: "201", former: "201",
            stranger: "201"),
        RESTRow(
            "POST", "/conversations", "/conversations", "of the same id",
            body: #"{"participants":[],"distinct":false,"id":"{conversation}"}"#,
            sender: "409 id_in_use, shown later too", participant: "409 id_in_use, shown later too",
            former: "409 id_in_use, shown",
            stranger: "409 id_in_use", tellsExistence: "an id that is taken cannot be used again"),
        RESTRow(
            "GET", "/conversations/:id", "/conversations/{conversation}", sender: "200, shown later too",
            participant: "200, shown later too",
            former: "200, shown", stranger: notFound),
    ]

    private static func patch(
        _ variant: String, _ operations: String, former: String = denied, stranger: String = notFound
    ) -> RESTRow {
        RESTRow(
            "PATCH", "/conversations/:id", "/conversations/{conversation}", variant, body: "[\(operations)]",
            sender: "204", participant: "204",
            former: former, stranger: stranger, destructive: true)
    }

    private static let conversationChanges: [RESTRow] = [
        patch("metadata", #"{"operation":"set","property":"metadata.title","value":"new"}"#),
        patch("adding a user", #"{"operation":"add","property":"participants","id":"layer:///identities/new-{new}"}"#),
        patch(
            "removing another", #"{"operation":"remove","property":"participants","id":"layer:///identities/{user}"}"#),
        patch("nothing", ""),
        RESTRow(
            "DELETE", "/conversations/:id", "/conversations/{conversation}?mode=my_devices", "from one's own devices",
            sender: "204",
            participant: "204", former: "204", stranger: notFound, destructive: true),
        RESTRow(
            "DELETE", "/conversations/:id", "/conversations/{conversation}?mode=my_devices&leave=true", "leaving it",
            sender: "204",
            participant: "204", former: "204", stranger: notFound, destructive: true),
        RESTRow(
            "DELETE", "/conversations/:id", "/conversations/{conversation}?mode=all_participants", "for all",
            sender: "204", participant: "204",
            former: denied, stranger: notFound, destructive: true),
        RESTRow(
            "POST", "/conversations/:id/mark_all_read", "/conversations/{conversation}/mark_all_read", sender: "204",
            participant: "204",
            former: denied, stranger: notFound),
        RESTRow(
            "DELETE", "/conversations/:id", "/conversations/{conversation}?mode=my_devices&position=1",
            "up to a position", sender: "204",
            participant: "204", former: "204", stranger: notFound, destructive: true),
        RESTRow(
            "POST", "/conversations/:id/receipts", "/conversations/{conversation}/receipts",
            body: #"{"type":"read","ids":["layer:///messages/{message}"]}"#, sender: "200", participant: "200",
            former: denied, stranger: notFound),
    ]

    // MARK: Messages

    private static let messages: [RESTRow] =
        [
            RESTRow(
                "GET", "/conversations/:id/messages", "/conversations/{conversation}/messages",
                sender: "200, shown later too",
                participant: "200, shown later too", former: "200, shown", stranger: notFound),
            RESTRow(
                "GET", "/conversations/:id/messages", "/conversations/{conversation}/messages?from_id={later}",
                "from a later one on",
                sender: "200, shown later too", participant: "200, shown later too", former: "422 invalid_property",
                stranger: notFound),
            RESTRow(
                "GET", "/conversations/:id/messages", "/conversations/{own}/messages?from_id={message}",
                "of another conversation, from this one on",
                sender: "422 invalid_property", participant: "422 invalid_property", former: "422 invalid_property",
                stranger: "422 invalid_property"),
            RESTRow(
                "POST", "/conversations/:id/messages", "/conversations/{conversation}/messages",
                body: #"{"parts":[\#(part)]}"#,
                sender: "201, shown later too", participant: "201, shown later too", former: denied, stranger: notFound),
            RESTRow(
                "POST", "/conversations/:id/messages", "/conversations/{own}/messages", "elsewhere, of the same id",
                body: #"{"parts":[\#(part)],"id":"{message}"}"#, sender: "409 id_in_use, shown later too",
                participant: "409 id_in_use, shown later too", former: "409 id_in_use, shown",
                stranger: "409 id_in_use",
                tellsExistence: "an id that is taken cannot be used again"),
            RESTRow(
                "POST", "/conversations/:id/messages", "/conversations/{own}/messages", "elsewhere, with its content",
                body: #"{"parts":[{"mime_type":"image/png","content":{"id":"layer:///content/{content}","size":1}}]}"#,
                sender: "201, shown",
                participant: "201, shown", former: "201, shown", stranger: "422 invalid_property"),
            RESTRow(
                "POST", "/conversations/:id/messages", "/conversations/{own}/messages", "elsewhere, with later content",
                body:
                    #"{"parts":[{"mime_type":"image/png","content":{"id":"layer:///content/{laterContent}","size":1}}]}"#,
                sender: "201, shown later too", participant: "201, shown later too", former: "422 invalid_property",
                stranger: "422 invalid_property"),
        ] + ["message", "later"].flatMap { name in singleMessage(name, isLater: name == "later") }

    /// Requests on one message, from before or after the removal. Participants see a user who came later among its
    /// recipients.
    private static func singleMessage(_ name: String, isLater: Bool) -> [RESTRow] {
        func row(
            _ method: String, _ tail: String, _ variant: String = "", query: String = "", body: String? = nil,
            ok: String, participant: String? = nil,
            former: String, destructive: Bool = false
        ) -> RESTRow {
            RESTRow(
                method, "/messages/:id" + tail, "/messages/{\(name)}" + tail + query,
                [isLater ? "a later one" : "", variant].filter { !$0.isEmpty }.joined(separator: ", "), body: body,
                sender: ok,
                participant: participant ?? ok, former: isLater ? notFound : former, stranger: notFound,
                destructive: destructive)
        }
        let shown = isLater ? "shown later too" : "shown"
        return [
            row("GET", "", ok: "200, shown later too", former: "200, shown"),
            row("DELETE", "", "for all", query: "?mode=all_participants", ok: "204", former: denied, destructive: true),
            row(
                "DELETE", "", "from one's own devices", query: "?mode=my_devices", ok: "204", former: "204",
                destructive: true),
            row("POST", "/receipts", body: #"{"type":"read"}"#, ok: "204", former: denied),
            row("GET", "/parts", ok: "200, \(shown)", former: "200, shown"),
            row("POST", "/parts", body: part, ok: "201, \(shown)", participant: denied, former: denied),
            row("PUT", "/parts", body: "[\(part)]", ok: "200, \(shown)", participant: denied, former: denied),
        ]
    }

    // MARK: Parts, content, announcements

    private static let parts: [RESTRow] = [
        RESTRow(
            "GET", "/messages/:id/parts/:part", "/messages/{message}/parts/{part}", sender: "200, shown",
            participant: "200, shown",
            former: "200, shown", stranger: notFound),
        RESTRow(
            "PUT", "/messages/:id/parts/:part", "/messages/{message}/parts/{part}", body: part, sender: "200, shown",
            participant: denied,
            former: denied, stranger: notFound),
        RESTRow(
            "DELETE", "/messages/:id/parts/:part", "/messages/{message}/parts/{part}", sender: "204",
            participant: denied, former: denied,
            stranger: notFound),
    ]

    private static let upload = ["Upload-Content-Type": "image/png", "Upload-Content-Length": "4"]

    private static let content: [RESTRow] = [
        RESTRow(
            "POST", "/content", "/content", headers: upload, sender: "201", participant: "201", former: "201",
            stranger: "201"),
        RESTRow(
            "GET", "/content/:id", "/content/{content}", sender: "200, shown", participant: "200, shown",
            former: "200, shown", stranger: notFound),
        RESTRow(
            "GET", "/content/:id", "/content/{laterContent}", "later content", sender: "200, shown later too",
            participant: "200, shown later too",
            former: notFound, stranger: notFound),
        // The URL itself is the permission: any client that has it may use it.
        RESTRow("PUT", "/content/uploads/:token", "/content/uploads/{upload}", body: "1234", everybody: "200"),
        RESTRow(
            "PUT", "/content/uploads/:token", "/content/uploads/{download}", "with the token of a download",
            body: "1234", everybody: notFound),
        RESTRow("POST", "/content/uploads/:token", "/content/uploads/{upload}", body: "1234", everybody: "200"),
        RESTRow(
            "POST", "/content/uploads/:token", "/content/uploads/{download}", "with the token of a download",
            body: "1234", everybody: notFound),
        RESTRow("GET", "/content/downloads/:token", "/content/downloads/{download}", everybody: "200, shown"),
        RESTRow("HEAD", "/content/downloads/:token", "/content/downloads/{download}", everybody: "200, shown"),
        RESTRow(
            "GET", "/content/downloads/:token", "/content/downloads/{content}", "with the id alone", everybody: notFound
        ),
        RESTRow(
            "GET", "/content/downloads/:token", "/content/downloads/{download}A", "with a token that was changed",
            everybody: notFound),
        RESTRow(
            "GET", "/content/downloads/:token", "/content/downloads/{upload}", "with the token of an upload",
            everybody: notFound),
        RESTRow(
            "HEAD", "/content/downloads/:token", "/content/downloads/{content}", "with the id alone", everybody: "404"),
    ]

    private static let announcements: [RESTRow] = [
        RESTRow(
            "GET", "/announcements", "/announcements", sender: "200, shown", participant: "200, shown", former: "200",
            stranger: "200"),
        RESTRow(
            "GET", "/announcements", "/announcements?from_id={otherAnnouncement}", "from this one on",
            sender: "200, shown",
            participant: "200, shown", former: "422 invalid_property", stranger: "422 invalid_property"),
        RESTRow(
            "GET", "/announcements/:id", "/announcements/{announcement}", sender: "200, shown",
            participant: "200, shown", former: notFound,
            stranger: notFound),
        RESTRow(
            "POST", "/announcements/:id/receipts", "/announcements/{announcement}/receipts", body: #"{"type":"read"}"#,
            sender: "204",
            participant: "204", former: notFound, stranger: notFound),
        RESTRow(
            "DELETE", "/announcements/:id", "/announcements/{announcement}", sender: "204", participant: "204",
            former: notFound,
            stranger: notFound),
    ]

    // MARK: People

    /// Users of one app may look each other up. Users of another app do not exist, and are rendered like users who have
    /// never signed in.
    private static let people: [RESTRow] = [
        RESTRow(
            "GET", "/identities", "/identities", sender: "200, shown later too", participant: "200, shown later too",
            former: "200", stranger: "200"),
        RESTRow(
            "GET", "/identities", "/identities?from_id={user}", "from this one on", sender: "200", participant: "200",
            former: "200", stranger: "200",
            otherApp: "422 invalid_property"),
        RESTRow(
            "GET", "/identities/:user", "/identities/{user}", sender: "200", participant: "200", former: "200",
            stranger: "200"),
        RESTRow(
            "GET", "/following", "/following", sender: "200, shown later too", participant: "200, shown later too",
            former: "200", stranger: "200"),
        RESTRow(
            "GET", "/following/users/:user", "/following/users/{user}", sender: "204", participant: notFound,
            former: "204", stranger: notFound),
        RESTRow(
            "PUT", "/following/users/:user", "/following/users/{user}", sender: "204",
            participant: "422 invalid_property", former: "204",
            stranger: "204"),
        RESTRow(
            "POST", "/following/users", "/following/users", body: #"["{user}"]"#, sender: "202", participant: "202",
            former: "202", stranger: "202"),
        RESTRow(
            "DELETE", "/following/users/:user", "/following/users/{user}", sender: "204", participant: "204",
            former: "204", stranger: "204"),
        RESTRow(
            "DELETE", "/following/:user", "/following/{user}", sender: "204", participant: "204", former: "204",
            stranger: "204"),
        RESTRow("GET", "/blocks", "/blocks", sender: "200", participant: "200", former: "200", stranger: "200"),
        RESTRow(
            "PUT", "/blocks/users/:user", "/blocks/users/{new}", sender: "204", participant: "204", former: "204",
            stranger: "204"),
        RESTRow(
            "DELETE", "/blocks/users/:user", "/blocks/users/{new}", sender: "204", participant: "204", former: "204",
            stranger: "204"),
    ]
}
