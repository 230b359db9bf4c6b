// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let metadata = RequirementGroup(
        title: "Metadata of conversations", prefixes: ["META"],
        requirements: [
            Requirement(
                id: "META-1",
                "Conversation metadata has string keys and string values. It syncs automatically to all participants."),
            Requirement(
                id: "META-2",
                "Titles, dates, tags, background image references, nested colour themes and participant facts read back unchanged."
            ),
            Requirement(
                id: "META-3", "`Conversation.metadata` is nested and read-only. Only conversation methods change it."),
            Requirement(
                id: "META-4",
                "`metadata[\"title\"]` and `metadata[path: \"theme.background_color\"]` return a text, or nil if there is none."
            ),
            Requirement(id: "META-5", "A key path lists the nested keys down to a text, separated by dots."),
            Requirement(id: "META-6", "`setMetadata(_:at:)` sets one value without changing its siblings."),
            Requirement(id: "META-7", "Each path segment is a key, even of digits only. Paths have at most 32 keys."),
            Requirement(
                id: "META-8",
                "`setMetadata(_:merge:)` with `true` adds or overwrites the given keys, also nested ones, and keeps others."
            ),
            Requirement(id: "META-9", "`setMetadata(_:merge:)` with `false` replaces the metadata."),
            Requirement(id: "META-10", "`deleteMetadata(at:)` removes everything at a key path."),
            Requirement(id: "META-11", "`deleteMetadata(at:)` removes several key paths together."),
            Requirement(id: "META-12", "`Conversation.Options` sets a new conversation's initial metadata."),
            Requirement(
                id: "META-13",
                "If users set one key concurrently, all devices converge on one of their values. StrataKit takes no locks."
            ),
            Requirement(
                id: "META-14",
                "Changing a key sends only that key, regardless of metadata size, and automatically reaches every participant."
            ),
            Requirement(id: "META-15", "A value is a string or a group of keys, nothing else."),
            Requirement(id: "META-16", "A value longer than 2048 bytes of UTF-8 throws `invalidValue`."),
            Requirement(
                id: "META-17", "Keys consist of ASCII letters, digits, `-` and `_`. Other keys throw `invalidKey`."),
            Requirement(
                id: "META-18",
                "Invalid keys from other software are shown and synced. Only this app's changes are checked."),
            Requirement(id: "META-19", "Keys form nested groups, which separate one feature's names from another's."),
            Requirement(
                id: "META-20",
                "StrataKit does not limit the number of keys. A server limit is an ordinary failure for the app."),
            Requirement(id: "META-21", "Changing one of many small values sends less than changing one large value."),
            Requirement(
                id: "META-22",
                "The documentation excludes from metadata: large amounts, binary data, thumbnails, facts about single messages, computed keys."
            ),
            Requirement(
                id: "META-30",
                """
                `setMetadata(_:at:)` also accepts groups. A group replaces everything below the path and any text on it, and creates missing \
                groups.
                """),
            Requirement(
                id: "META-31", "Merging descends to single texts, with the same result as setting each separately."),
            Requirement(
                id: "META-32",
                """
                Replacing sends one patch, which deletes known keys absent from the new metadata and sets the others. Keys set concurrently by \
                others stay. Whole replacements by other software are supported.
                """),
            Requirement(
                id: "META-33",
                """
                The last change accepted by the server wins, regardless of clocks. Unacknowledged local changes hide incoming values for the same \
                key and keys above or below it.
                """),
            Requirement(
                id: "META-34",
                "A change shows at once and publishes the whole `metadata` before and after. While connected, it is sent at once."
            ),
            Requirement(
                id: "META-35",
                "Unsent changes of a key are merged into the last. In an unsent conversation, all are merged into its creation."
            ),
            Requirement(
                id: "META-36",
                "Initial metadata arrives together with its conversation, also for receivers. No change of `metadata` precedes the creation."
            ),
            Requirement(
                id: "META-37",
                "Deleted keys can be set again. Deleting an absent key does nothing. Deleting a group deletes its content."
            ),
            Requirement(
                id: "META-38",
                "After leaving a conversation, changing its metadata throws `userNotAParticipant` and sends nothing."),
            Requirement(
                id: "META-39", "Invalid keys throw `invalidKey`, invalid values `invalidValue`; nothing changes."),
            Requirement(
                id: "META-40",
                "Changing metadata does not affect `lastMessage`, unread counts or the order of conversations."),
        ])
}
