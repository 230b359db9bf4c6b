// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let changes = RequirementGroup(
        title: "Changes of objects", prefixes: ["CHG"],
        requirements: [
            Requirement(
                id: "CHG-1",
                """
                A change holds the object after it and its kind; an update also the property and its values before and after. Each changed \
                property has its own change.
                """),
            Requirement(id: "CHG-2", "Conversations, messages, parts, announcements and identities publish changes."),
            Requirement(id: "CHG-3", "Changes by the app itself are published as those by others are."),
            Requirement(
                id: "CHG-4",
                "A change is published after it is stored: an observer that reads the store finds it there, or something newer."),
            Requirement(
                id: "CHG-5",
                """
                A batch has creations before updates before deletions, and conversations before their messages. Batches come in the order of the \
                store.
                """),
            Requirement(
                id: "CHG-6",
                """
                Nothing is told twice, and no update has equal values. Within a batch, creation and update are one creation, and creation and \
                deletion are nothing.
                """),
            Requirement(id: "CHG-7", "Properties have the names that LayerKit gave them."),
            Requirement(
                id: "CHG-8",
                "A new message publishes its creation, its conversation's `lastMessage` and totals, and `hasUnreadMessages` where that changes."),
            Requirement(id: "CHG-9", "A slow observer does not hold up a sync."),
        ])
}
