// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let conversations = RequirementGroup(
        title: "Conversations and participants", prefixes: ["CONV"],
        requirements: [
            Requirement(id: "CONV-1", "A signed-in user sends and receives messages, each in one conversation."),
            Requirement(id: "CONV-2", "`newConversation(with:options:)` creates a conversation."),
            Requirement(
                id: "CONV-3", "A new conversation needs participants: a set of user ids, as in identity tokens."),
            Requirement(id: "CONV-4", "The options of a new conversation can be omitted."),
            Requirement(id: "CONV-5", "If a conversation cannot be created, the call throws and creates nothing."),
            Requirement(id: "CONV-6", "Users are participants of every conversation that they create, named or not."),
            Requirement(id: "CONV-7", "A new conversation reaches the server only with its first message."),
            Requirement(id: "CONV-8", "Other participants do not see an unsent conversation."),
            Requirement(id: "CONV-9", "Queries on its creator's device do not find an unsent conversation."),
            Requirement(
                id: "CONV-10", "A server's conversation without messages appears on all participants' devices."),
            Requirement(id: "CONV-11", "A conversation is distinct by default."),
            Requirement(
                id: "CONV-12",
                "Users who independently create a distinct conversation for the same participants share one conversation."
            ),
            Requirement(id: "CONV-13", "StrataKit automatically applies later changes to a conversation's properties."),
            Requirement(
                id: "CONV-14", "Participants of a distinct conversation get it whenever one of them requests a new one."
            ),
            Requirement(
                id: "CONV-15", "With `isDistinct: false`, the same participants can have any number of conversations."),
            Requirement(id: "CONV-16", "Participants can be added and removed at any time."),
            Requirement(id: "CONV-17", "Any participant can add and remove any other. There is no owner."),
            Requirement(id: "CONV-18", "Added users see all earlier messages."),
            Requirement(id: "CONV-19", "Removed users keep the conversation unchanged, and receive nothing new."),
            Requirement(
                id: "CONV-20",
                "`addParticipants(_:)` and `removeParticipants(_:)` take several user ids, and return or throw."),
            Requirement(id: "CONV-21", "A distinct conversation stops being distinct when its participants change."),
            Requirement(
                id: "CONV-22",
                "If changed participants match another, distinct conversation, both conversations remain."),
            Requirement(
                id: "CONV-30",
                "A conversation has at most 250 participants, creator included. More throw `tooManyParticipants` at creation, adding and sending."
            ),
            Requirement(
                id: "CONV-31",
                """
                Requesting a distinct conversation that is on this device throws `distinctConversationExists` with its id, or 1015 during its \
                local deletion. `findOrCreate` returns or creates one.
                """),
            Requirement(
                id: "CONV-32",
                """
                If the server has another conversation for the same participants, the local one adopts and publishes its id. Messages move over, \
                and the old id stays valid. The server's metadata wins; then local changes are sent by key.
                """),
            Requirement(id: "CONV-33", "A conversation only with a user whom this user blocks is refused with 1016."),
            Requirement(
                id: "CONV-34", "Distinctness concerns the participants at creation, and ends when they change."),
            Requirement(
                id: "CONV-35",
                """
                Unsent conversations are in no query, count or change. The first `send(_:)` publishes the creation. The server may assign another \
                `createdAt`.
                """),
            Requirement(
                id: "CONV-36",
                "Metadata, participants and receipt options set before the first message are sent with the creation."),
            Requirement(
                id: "CONV-37",
                "Own conversations have the device's time as `createdAt` until the server has them; all others have the server's."
            ),
            Requirement(
                id: "CONV-38",
                """
                `lastMessage` is the last message on this device; unsent messages count as newest. `hasUnreadMessages` is true if one here is \
                unread.
                """),
            Requirement(
                id: "CONV-39",
                """
                Adding a participant again does nothing. Removing a non-participant throws 1014. Changing a left conversation throws 1011, a \
                deleted one 1010 or 11002.
                """),
            Requirement(
                id: "CONV-40",
                "Removed users can read but not change their copy. Added again, they get everything missed."),
            Requirement(
                id: "CONV-41",
                """
                `leave()` removes the user from the participants, and the conversation from all their devices. It throws for former participants \
                and deleted conversations.
                """),
            Requirement(
                id: "CONV-42",
                """
                A conversation deleted for the own devices returns with the next message, with the metadata and history that the server holds for \
                this user.
                """),
            Requirement(id: "CONV-43", "Participants of the user's conversations are followed automatically."),
            Requirement(
                id: "CONV-44", "Changes of participants show at once, wait in the queue, and are undone if refused."),
        ])
}
