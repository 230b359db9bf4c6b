// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let changes = RequirementGroup(
        title: "Changes of objects", prefixes: ["CHG"],
        requirements: [
            Requirement(
                id: "CHG-1",
                """
                A change holds its kind and the object's new state. An update also holds the property and its old and new values. Each changed \
                property has its own change.
                """),
            Requirement(id: "CHG-2", "Conversations, messages, parts, announcements and identities publish changes."),
            Requirement(id: "CHG-3", "The app's own changes are published like those of others."),
            Requirement(
                id: "CHG-4",
                "A change is published after it is stored. Observers that read the store find it, or a newer state."),
            Requirement(
                id: "CHG-5",
                """
                A batch orders creations before updates before deletions, and conversations before their messages. Batches follow the store's \
                order.
                """),
            Requirement(
                id: "CHG-6",
                """
                No change is published twice; no update has equal values. Within a batch, creation and update give a creation; creation and \
                deletion give nothing.
                """),
            Requirement(id: "CHG-7", "Properties have LayerKit's names."),
            Requirement(
                id: "CHG-8",
                "A new message publishes its creation, its conversation's `lastMessage` and totals, and `hasUnreadMessages` if that changes."
            ),
            Requirement(id: "CHG-9", "A slow observer does not delay a sync."),
        ])
}
