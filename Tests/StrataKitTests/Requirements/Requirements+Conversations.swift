// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let conversations = RequirementGroup(
        title: "Conversations and participants", prefixes: ["CONV"],
        requirements: [
            Requirement(id: "CONV-1", "A signed-in user sends and receives messages. Each message is in one conversation."),
            Requirement(id: "CONV-2", "`newConversation(with:options:)` makes a conversation."),
            Requirement(id: "CONV-3", "A new conversation needs participants: a set of user ids as identity tokens have them."),
            Requirement(id: "CONV-4", "The options of a new conversation can be left out."),
            Requirement(id: "CONV-5", "If a conversation cannot be made, the call throws and there is no conversation."),
            Requirement(id: "CONV-6", "The user is a participant of every conversation that they make, named or not."),
            Requirement(id: "CONV-7", "A new conversation reaches the server with its first message, and not before."),
            Requirement(id: "CONV-8", "Until then, other participants do not see it."),
            Requirement(id: "CONV-9", "Until then, queries on the device of its creator do not find it."),
            Requirement(id: "CONV-10", "A conversation that the server has without messages appears on the devices of all its participants."),
            Requirement(id: "CONV-11", "A conversation is distinct unless its options say otherwise."),
            Requirement(
                id: "CONV-12",
                "Users who make a distinct conversation for the same participants without knowing of each other end up in one conversation."),
            Requirement(
                id: "CONV-13",
                "If properties of a conversation change after its creation, StrataKit applies that, and the app has nothing to do."),
            Requirement(id: "CONV-14", "Participants who share a distinct conversation get this one whenever one of them asks for a new one."),
            Requirement(id: "CONV-15", "With `isDistinct: false` the same participants can have any number of conversations."),
            Requirement(id: "CONV-16", "Participants can be added and removed at any time."),
            Requirement(id: "CONV-17", "Any participant can add and remove any other. There is no owner."),
            Requirement(id: "CONV-18", "Users who are added see all earlier messages."),
            Requirement(id: "CONV-19", "Users who are removed keep the conversation as it was, and receive nothing new."),
            Requirement(id: "CONV-20", "`addParticipants(_:)` and `removeParticipants(_:)` take several user ids, and return or throw."),
            Requirement(id: "CONV-21", "A distinct conversation stops being distinct when its participants change."),
            Requirement(id: "CONV-22", "If its new participants are those of another, distinct conversation, both go on side by side."),
            Requirement(
                id: "CONV-30",
                """
                A conversation has at most 250 participants, its creator included. More throw `tooManyParticipants` at creation, adding and \
                sending.
                """),
            Requirement(
                id: "CONV-31",
                """
                Asking for a distinct conversation that is on this device throws `distinctConversationExists` with its id, or 1015 if it is being \
                deleted here. `findOrCreate` returns the one that exists, or makes one.
                """),
            Requirement(
                id: "CONV-32",
                """
                If the server has another conversation for the same participants, the local one takes its id and publishes that. Messages move \
                over, and the old id still finds it. The server's metadata wins; then local changes are sent key by key.
                """),
            Requirement(
                id: "CONV-33",
                "A conversation with only one other user, whom this user blocks, is refused with 1016."),
            Requirement(id: "CONV-34", "Being distinct is about the participants at the creation, and ends when they change."),
            Requirement(
                id: "CONV-35",
                """
                A conversation that is not sent yet is in no query, count or change. Its first `send(_:)` publishes its creation. The server may \
                give it another `createdAt`.
                """),
            Requirement(id: "CONV-36", "Metadata, participants and receipt options that are set before the first message go out with the creation."),
            Requirement(
                id: "CONV-37",
                "`createdAt` is the device's time for own conversations until the server has them, and the server's time for all others."),
            Requirement(
                id: "CONV-38",
                """
                `lastMessage` is the last message on this device, unsent ones counting as newer than sent ones. `hasUnreadMessages` says whether \
                one on this device is unread.
                """),
            Requirement(
                id: "CONV-39",
                """
                Adding a participant again does nothing. Removing a user who is no participant throws 1014, changing a conversation after leaving \
                it 1011, and changing a deleted one 1010 or 11002.
                """),
            Requirement(
                id: "CONV-40",
                "A removed user can read their copy and cannot change it. When they are added again, they get what they missed."),
            Requirement(
                id: "CONV-41",
                """
                `leave()` takes the user off the participants, and the conversation off all their devices. Former participants and deleted \
                conversations throw.
                """),
            Requirement(
                id: "CONV-42",
                """
                A conversation that was deleted for the own devices comes back with the next message, with the metadata and history that the \
                server holds for this user.
                """),
            Requirement(id: "CONV-43", "Participants of the user's conversations are followed without a call."),
            Requirement(id: "CONV-44", "A change of participants shows at once, waits in the queue, and is undone if the server refuses it."),
        ])
}
