// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let typing = RequirementGroup(
        title: "Typing indicators", prefixes: ["TYPE"],
        requirements: [
            Requirement(id: "TYPE-1", "An app can tell others that its user is writing, and learns who else is."),
            Requirement(id: "TYPE-2", "`sendTypingIndicator(_:)` of a conversation tells what the signed-in user does."),
            Requirement(
                id: "TYPE-3",
                "Participants who are online at that moment receive it. Users who come online later, and users outside the conversation, never do."),
            Requirement(id: "TYPE-4", "The actions are `begin`, `pause` and `finish`."),
            Requirement(id: "TYPE-5", "Each subscription to `typingIndicators` receives every event."),
            Requirement(id: "TYPE-6", "An event names its conversation."),
            Requirement(id: "TYPE-7", "An event names its sender and the action."),
            Requirement(id: "TYPE-8", "An app that knows `begin` and takes everything else for \"not typing\" shows the right users."),
            Requirement(
                id: "TYPE-9",
                "Typing is kept nowhere and never delivered later: it is not in the store, the queue, queries, changes or the history."),
            Requirement(id: "TYPE-10", "An app may call at every key stroke. StrataKit sends only what others need."),
            Requirement(id: "TYPE-11", "10 seconds after the last `begin`, StrataKit itself sends `pause`."),
            Requirement(id: "TYPE-12", "After 10 more seconds without a call, StrataKit itself sends `finish`."),
            Requirement(
                id: "TYPE-20",
                """
                An action that differs from the last one is sent at once. The same action restarts the timer, and is sent again only after 2.5 \
                seconds.
                """),
            Requirement(
                id: "TYPE-21",
                "`pause` by the app starts the second 10 seconds. `finish` stops all timers, and sends nothing if the user was not typing."),
            Requirement(
                id: "TYPE-22",
                "Sending a message ends typing without a signal of its own. Receivers take the sender off when the message arrives."),
            Requirement(id: "TYPE-23", "Calls without a connection send nothing. After reconnecting, only a `begin` that still holds is sent."),
            Requirement(
                id: "TYPE-24",
                """
                A receiver takes a user off after 25 seconds of silence, when the user leaves, and when the connection is lost, and publishes a \
                `finish`.
                """),
            Requirement(id: "TYPE-25", "What the user types on other devices is not published."),
            Requirement(id: "TYPE-26", "An event for a conversation that is not on this device is dropped."),
            Requirement(id: "TYPE-27", "On the wire the actions are called `started`, `paused` and `finished`."),
            Requirement(id: "TYPE-28", "All timers run on a clock that is passed in, so tests of 10 seconds need no waiting."),
            Requirement(id: "TYPE-29", "Signing out, disconnecting and deleting the conversation stop the timers and send nothing."),
        ])
}
