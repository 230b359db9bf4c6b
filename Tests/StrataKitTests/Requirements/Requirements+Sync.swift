// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let sync = RequirementGroup(
        title: "Synchronization", prefixes: ["SYNC"],
        requirements: [
            Requirement(id: "SYNC-1", "The server pushes changes as they happen. StrataKit does not poll."),
            Requirement(id: "SYNC-2", "A starting client fetches missed changes. Afterwards the server pushes."),
            Requirement(id: "SYNC-3", "An app can request older messages that are not on the device."),
            Requirement(
                id: "SYNC-4",
                "`waitForCreation(of:timeout:)` reports the arrival of an object that only the server has."),
            Requirement(
                id: "SYNC-5", "Messages arriving out of order are inserted in order, also between visible messages."),
            Requirement(id: "SYNC-6", "Only the user's conversations and announcements reach the device."),
            Requirement(
                id: "SYNC-7", "During a sync, every call works with local data, without crashes or lost changes."),
            Requirement(
                id: "SYNC-8",
                "Sending, queries and marking as read use only local data. The documentation explains the consequences."
            ),
            Requirement(id: "SYNC-9", "The client fetches everything only if the app requests it."),
            Requirement(
                id: "SYNC-10",
                "If one of 10 unread messages is on the device, marking all as read marks this one. The unread count falls by 1."
            ),
            Requirement(id: "SYNC-11", "An app can observe the progress of a sync."),
            Requirement(
                id: "SYNC-12",
                "Offline, an app can create conversations, send messages, change participants and metadata, and mark as read."
            ),
            Requirement(
                id: "SYNC-13", "After reconnecting, StrataKit sends offline changes automatically, without any setting."
            ),
            Requirement(id: "SYNC-14", "`objectChanges` reports created, changed and deleted objects."),
            Requirement(id: "SYNC-15", "Changes belong to one client. Several observers can each receive all of them."),
            Requirement(id: "SYNC-16", "A stream element is a batch of changes. Each change concerns one object."),
            Requirement(id: "SYNC-17", "A change names its object's kind."),
            Requirement(id: "SYNC-18", "A change says whether the object was created, updated or deleted."),
            Requirement(id: "SYNC-19", "One `switch` over object and kind handles every change."),
            Requirement(
                id: "SYNC-20", "`objectChanges` is a stream of batches of changes, `events` a stream of later failures."
            ),
            Requirement(
                id: "SYNC-30", "Client options select the existing messages to fetch after signing in and connecting."),
            Requirement(id: "SYNC-31", "The default policy is `unreadOnly`."),
            Requirement(
                id: "SYNC-32",
                "`completeHistory` fetches all messages of all conversations. The documentation warns of bandwidth and slow first starts."
            ),
            Requirement(
                id: "SYNC-33",
                "`unreadOnly` fetches each conversation from its first unread message or, without one, only its newest message."
            ),
            Requirement(
                id: "SYNC-34", "`partialHistory(count:)` fetches the `count` newest messages of each conversation."),
            Requirement(id: "SYNC-35", "There are three policies."),
            Requirement(
                id: "SYNC-36",
                "With `unreadOnly` and `partialHistory(count:)`, older messages can be fetched later per conversation."),
            Requirement(
                id: "SYNC-40",
                "Queries find server-made objects only after arrival. An app that knows an id can wait for it."),
            Requirement(id: "SYNC-41", "A query on `identifier` finds an object by its id."),
            Requirement(id: "SYNC-42", "`waitForCreation(of:timeout:)` returns the object once it is on the device."),
            Requirement(
                id: "SYNC-43",
                "`waitForCreation(of:timeout:)` throws after the timeout, which may have fractions of a second."),
            Requirement(id: "SYNC-44", "An app can wait for conversations and messages."),
            Requirement(
                id: "SYNC-50", "`totalMessageCount` counts all messages of a conversation, on this device or not."),
            Requirement(
                id: "SYNC-51",
                "`totalUnreadMessageCount` counts all unread messages of a conversation, on this device or not."),
            Requirement(
                id: "SYNC-52",
                "`synchronizeMoreMessages(atLeast:)` fetches at least this many more messages, backwards from the newest missing one."
            ),
            Requirement(
                id: "SYNC-53", "`synchronizeAllMessages(_:)` with `all` fetches all earlier messages of a conversation."
            ),
            Requirement(
                id: "SYNC-54",
                "`synchronizeAllMessages(_:)` with `toFirstUnread` fetches back to the first unread message."),
            Requirement(id: "SYNC-55", "Synchronization methods return or throw at once; messages arrive later."),
            Requirement(
                id: "SYNC-56",
                "The documentation advises disabling both kinds of receipts for more than 5 participants."),
            Requirement(
                id: "SYNC-60",
                """
                The policy applies to empty stores, and to conversations that the user is added to. All live messages and all missed offline \
                arrive.
                """),
            Requirement(id: "SYNC-61", "`partialHistory` without a number fetches 25 messages."),
            Requirement(id: "SYNC-62", "A client without options never fetches the complete history."),
            Requirement(
                id: "SYNC-63",
                "A changed policy applies to conversations found afterwards. Messages on the device stay."),
            Requirement(
                id: "SYNC-64",
                "Conversations sync in parallel, the most recent first. One failure does not stop the others."),
            Requirement(
                id: "SYNC-65",
                "The store knows each conversation's complete ranges. Gaps are filled before older messages are fetched."
            ),
            Requirement(
                id: "SYNC-66",
                "Events report a sync's beginning, with progress, and end, even without changes. Between them, changes are stored, then published."
            ),
            Requirement(
                id: "SYNC-67",
                """
                Fetching more throws `invalidArgument` for 0 messages and 9004 without a connection. It throws 9005 (with progress) during a \
                fetch, 9006 if everything is here, and 9007 if nothing is left.
                """),
            Requirement(
                id: "SYNC-68",
                "StrataKit may fetch slightly more messages than requested. If fewer remain, it fetches these."),
            Requirement(
                id: "SYNC-69",
                "Fetched history gives `create` changes, without other effects. It sends no delivery receipts for delivered or read messages."
            ),
            Requirement(
                id: "SYNC-70",
                """
                Totals come from the server. They stay right when messages arrive or are read or deleted, on this device or not. Each new total is \
                a change.
                """),
            Requirement(
                id: "SYNC-71",
                """
                `waitForCreation(of:timeout:)` returns local objects at once and otherwise asks the server. It throws 6005 for a wrong id, 6004 \
                after the timeout, 7004 without a user, and on cancellation. Several tasks can await one id.
                """),
            Requirement(id: "SYNC-72", "Waiting for an object that is deleted meanwhile times out."),
            Requirement(
                id: "SYNC-73",
                """
                After each reconnect, the client replays missed changes. If the server's log is too short, it reloads its lists and keeps unsent \
                work.
                """),
            Requirement(
                id: "SYNC-74",
                "No packet or answer from the server ends the process or damages the store. Invalid numbers, paths and times are ignored."
            ),
        ])
}
