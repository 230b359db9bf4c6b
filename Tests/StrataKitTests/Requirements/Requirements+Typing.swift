// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let typing = RequirementGroup(
        title: "Typing indicators", prefixes: ["TYPE"],
        requirements: [
            Requirement(id: "TYPE-1", "An app can report that its user is typing, and learns who else is."),
            Requirement(
                id: "TYPE-2", "`sendTypingIndicator(_:)` of a conversation reports the signed-in user's action."),
            Requirement(
                id: "TYPE-3",
                "Indicators reach only participants who are online. Users who come online later and users outside the conversation get none."
            ),
            Requirement(id: "TYPE-4", "The actions are `begin`, `pause` and `finish`."),
            Requirement(id: "TYPE-5", "Each subscription to `typingIndicators` receives every event."),
            Requirement(id: "TYPE-6", "An event names its conversation."),
            Requirement(id: "TYPE-7", "An event names its sender and action."),
            Requirement(
                id: "TYPE-8", "An app that treats every action except `begin` as \"not typing\" shows the right users."),
            Requirement(
                id: "TYPE-9",
                "Typing is never stored or delivered later. It is not in the store, queue, queries, changes or history."
            ),
            Requirement(id: "TYPE-10", "An app may report every keystroke. StrataKit sends only necessary indicators."),
            Requirement(id: "TYPE-11", "StrataKit sends `pause` 10 seconds after the last `begin`."),
            Requirement(id: "TYPE-12", "StrataKit sends `finish` after 10 more seconds without a call."),
            Requirement(
                id: "TYPE-20",
                "A different action is sent at once. A repeated one restarts the timer, and is resent only after 2.5 seconds."
            ),
            Requirement(
                id: "TYPE-21",
                "`pause` by the app starts the second 10 seconds. `finish` stops all timers; it is sent only if the user was typing."
            ),
            Requirement(
                id: "TYPE-22",
                "Sending a message ends typing without an indicator. Receivers remove the sender when the message arrives."
            ),
            Requirement(
                id: "TYPE-23",
                "Without a connection, calls send nothing. After reconnecting, only a still valid `begin` is sent."),
            Requirement(
                id: "TYPE-24",
                "A receiver removes a user and publishes `finish` after 25 seconds of silence, when the user leaves, and on connection loss."
            ),
            Requirement(id: "TYPE-25", "Typing on the user's other devices is not published."),
            Requirement(id: "TYPE-26", "Events for conversations that are not on this device are dropped."),
            Requirement(id: "TYPE-27", "On the wire, the actions are `started`, `paused` and `finished`."),
            Requirement(id: "TYPE-28", "All timers use an injected clock, so tests need not wait 10 seconds."),
            Requirement(
                id: "TYPE-29",
                "Signing out, disconnecting and deleting the conversation stop the timers and send nothing."),
        ])
}
