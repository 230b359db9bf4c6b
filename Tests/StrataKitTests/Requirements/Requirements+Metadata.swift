// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let metadata = RequirementGroup(
        title: "Metadata of conversations", prefixes: ["META"],
        requirements: [
            Requirement(
                id: "META-1",
                """
                A conversation carries metadata: string keys that lead to strings. All participants have the same metadata without any step of the \
                app.
                """),
            Requirement(
                id: "META-2",
                """
                A title, dates, tags, a reference to a background image, a nested colour theme and facts about participants are read back as they \
                were set.
                """),
            Requirement(id: "META-3", "`Conversation.metadata` is a nested structure for reading. Only the methods of a conversation change it."),
            Requirement(
                id: "META-4",
                "`metadata[\"title\"]` and `metadata[path: \"theme.background_color\"]` read a text, and are nil where there is none."),
            Requirement(id: "META-5", "A key path names the nested keys down to one text, separated by dots."),
            Requirement(id: "META-6", "Setting one value with `setMetadata(_:at:)` leaves its siblings untouched."),
            Requirement(id: "META-7", "Each segment of a path is a key, also one of digits alone. Paths have up to 32 keys."),
            Requirement(
                id: "META-8",
                "`setMetadata(_:merge:)` with `true` adds or overwrites the given keys, nested ones too, and keeps all others."),
            Requirement(id: "META-9", "`setMetadata(_:merge:)` with `false` puts the given metadata in the place of the old."),
            Requirement(id: "META-10", "`deleteMetadata(at:)` removes what is at a key path."),
            Requirement(id: "META-11", "`deleteMetadata(at:)` takes several key paths and removes them together."),
            Requirement(id: "META-12", "`Conversation.Options` gives a new conversation its first metadata."),
            Requirement(
                id: "META-13",
                "When several users set one key at once, every device ends with the same one of their values. StrataKit takes no locks."),
            Requirement(
                id: "META-14",
                "A change of one key sends that key alone, however much metadata there is, and reaches every participant by itself."),
            Requirement(id: "META-15", "A value is a string or a group of keys. Nothing else can be stored."),
            Requirement(id: "META-16", "A value has at most 2048 bytes of UTF-8. A longer one throws `invalidValue`."),
            Requirement(id: "META-17", "A key consists of ASCII letters, digits, `-` and `_`. Any other key throws `invalidKey`."),
            Requirement(
                id: "META-18",
                "Keys that break this rule and come from other software are shown and synced. Only changes of the own app are checked."),
            Requirement(id: "META-19", "Keys form nested groups, which separate the names of one feature from those of another."),
            Requirement(
                id: "META-20",
                "StrataKit sets no limit on the number of keys. A limit of the server reaches the app as an ordinary failure."),
            Requirement(id: "META-21", "Changing one of many small values sends fewer bytes than changing one large value."),
            Requirement(
                id: "META-22",
                """
                The documentation says what metadata is not for: large amounts, binary data, thumbnails, facts about single messages, computed \
                keys.
                """),
            Requirement(
                id: "META-30",
                """
                `setMetadata(_:at:)` also takes a group, which replaces all that is below the path. It makes missing groups and replaces a text in \
                its way.
                """),
            Requirement(id: "META-31", "Merging goes down to single texts: the result is the same as setting each text by itself."),
            Requirement(
                id: "META-32",
                """
                Replacing sends one patch: it deletes the keys that this device knows and the new metadata lacks, and sets the others. A key that \
                another user sets meanwhile stays. A whole replacement by other software is understood.
                """),
            Requirement(
                id: "META-33",
                """
                The last change is the last one that the server accepts; no clock decides. Until a local change is acknowledged, it hides values \
                that arrive for the same key and for keys above or below it.
                """),
            Requirement(
                id: "META-34",
                """
                A change shows at once, publishes a change of `metadata` with the whole values before and after, and is sent at once while \
                connected.
                """),
            Requirement(
                id: "META-35",
                "Unsent changes of one key become one, the last. In a conversation that is not sent yet, all become part of its creation."),
            Requirement(
                id: "META-36",
                "First metadata comes with its conversation: no change of `metadata` precedes the creation, and receivers get both together."),
            Requirement(
                id: "META-37",
                "A deleted key can be set again. Deleting an absent key does nothing. Deleting a group deletes all that is in it."),
            Requirement(
                id: "META-38",
                "After the user has left a conversation, changing its metadata throws `userNotAParticipant` and sends nothing."),
            Requirement(id: "META-39", "A wrong key throws `invalidKey` and a wrong value `invalidValue`; then nothing has changed."),
            Requirement(id: "META-40", "Changing metadata leaves `lastMessage`, unread counts and the order of conversations as they are."),
        ])
}
