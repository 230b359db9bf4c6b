// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let sync = RequirementGroup(
        title: "Synchronization", prefixes: ["SYNC"],
        requirements: [
            Requirement(id: "SYNC-1", "The server pushes changes as they are made. StrataKit does not poll."),
            Requirement(id: "SYNC-2", "A client that starts fetches what it has missed; from then on the server pushes."),
            Requirement(id: "SYNC-3", "An app can request older messages that are not on the device."),
            Requirement(id: "SYNC-4", "An object that the server has may not be here yet. `waitForCreation(of:timeout:)` says when it is."),
            Requirement(id: "SYNC-5", "Messages that arrive out of order take their right places, also between messages that are visible already."),
            Requirement(id: "SYNC-6", "Only conversations of the user and announcements to the user come to the device."),
            Requirement(id: "SYNC-7", "While a sync is under way, every call works with what is here: none crashes, and no change is lost."),
            Requirement(
                id: "SYNC-8",
                "Sending, queries and marking as read use only what is on the device. The documentation says what follows from this."),
            Requirement(id: "SYNC-9", "Unless the app asks for it, the client does not fetch everything."),
            Requirement(
                id: "SYNC-10",
                "Of 10 unread messages one is on the device: marking all as read marks this one, and the unread count goes down by 1."),
            Requirement(id: "SYNC-11", "An app can observe how far a sync has come."),
            Requirement(
                id: "SYNC-12",
                "Without a network an app can create conversations, send messages, change participants and metadata, and mark as read."),
            Requirement(
                id: "SYNC-13",
                "After reconnecting, StrataKit sends what was done without a network, without any step or setting of the app."),
            Requirement(id: "SYNC-14", "`objectChanges` tells of objects that were created, changed and deleted."),
            Requirement(id: "SYNC-15", "Changes are those of one client, and several observers can each receive all of them."),
            Requirement(id: "SYNC-16", "One element of the stream is a batch of changes, and each change is about one object."),
            Requirement(id: "SYNC-17", "A change says which kind of object it is about."),
            Requirement(id: "SYNC-18", "A change says whether the object was created, updated or deleted."),
            Requirement(id: "SYNC-19", "One `switch` over object and kind handles every change."),
            Requirement(
                id: "SYNC-20",
                "Both signals are streams: batches of changes are elements of `objectChanges`, and later failures are elements of `events`."),
            Requirement(id: "SYNC-30", "The client's options say which existing messages are fetched after signing in and connecting."),
            Requirement(id: "SYNC-31", "The default policy is `unreadOnly`."),
            Requirement(
                id: "SYNC-32",
                "`completeHistory` fetches all messages of all conversations. The documentation warns of bandwidth and of slow first starts."),
            Requirement(
                id: "SYNC-33",
                "`unreadOnly` fetches each conversation from its first unread message on; if all are read, only its newest message."),
            Requirement(id: "SYNC-34", "`partialHistory(count:)` fetches the newest messages of each conversation, this many."),
            Requirement(id: "SYNC-35", "There are three policies."),
            Requirement(
                id: "SYNC-36",
                "With `unreadOnly` and `partialHistory(count:)`, older messages can be fetched later, conversation by conversation."),
            Requirement(
                id: "SYNC-40",
                "An object that a server made is not found by queries until it has arrived; an app that knows its id can wait for it."),
            Requirement(id: "SYNC-41", "A query on `identifier` finds an object by its id."),
            Requirement(id: "SYNC-42", "`waitForCreation(of:timeout:)` returns the object once it is on the device."),
            Requirement(id: "SYNC-43", "After the timeout, which may have fractions of a second, the call throws and returns no object."),
            Requirement(id: "SYNC-44", "An app can wait for conversations and for messages."),
            Requirement(id: "SYNC-50", "`totalMessageCount` counts all messages of a conversation, on this device or not."),
            Requirement(id: "SYNC-51", "`totalUnreadMessageCount` counts all unread messages of a conversation, on this device or not."),
            Requirement(
                id: "SYNC-52",
                "`synchronizeMoreMessages(atLeast:)` fetches at least this many more messages, backwards from the newest that is missing."),
            Requirement(id: "SYNC-53", "`synchronizeAllMessages(_:)` with `all` fetches all earlier messages of a conversation."),
            Requirement(id: "SYNC-54", "`synchronizeAllMessages(_:)` with `toFirstUnread` fetches back to the first unread message."),
            Requirement(id: "SYNC-55", "Both calls return or throw at once; the messages come later."),
            Requirement(id: "SYNC-56", "The documentation advises to switch both kinds of receipts off for more than 5 participants."),
            Requirement(
                id: "SYNC-60",
                """
                The policy decides for an empty store, and for conversations that the user is added to. Messages that come live, and those missed \
                while offline, come all.
                """),
            Requirement(id: "SYNC-61", "`partialHistory` without a number fetches 25 messages."),
            Requirement(id: "SYNC-62", "A client that is made without options never fetches the complete history."),
            Requirement(
                id: "SYNC-63",
                "After a change of the policy, the new one decides for conversations found from then on. Messages on the device stay."),
            Requirement(id: "SYNC-64", "Conversations sync in parallel, the most recent first. One that fails does not stop the others."),
            Requirement(
                id: "SYNC-65",
                "The store knows which stretch of each conversation is complete. A hole is filled before older messages are fetched."),
            Requirement(
                id: "SYNC-66",
                """
                Events tell when a sync begins, with its progress, and when it is over, also if nothing was new. Its changes are stored, then \
                published, between these two.
                """),
            Requirement(
                id: "SYNC-67",
                """
                Fetching more throws `invalidArgument` for 0 messages, and 9004 to 9007 if there is no connection, a fetch is running (with its \
                progress), everything is here, or nothing is left to fetch.
                """),
            Requirement(id: "SYNC-68", "StrataKit may fetch a few messages more than asked for. If fewer remain, it fetches these and succeeds."),
            Requirement(
                id: "SYNC-69",
                """
                Fetched history gives `create` changes. It sends no delivery receipts for messages that were delivered or read, and nothing else \
                follows from it.
                """),
            Requirement(
                id: "SYNC-70",
                """
                Totals are the server's. They stay right as messages come, are read or are deleted, on this device or not, and each new total is a \
                change.
                """),
            Requirement(
                id: "SYNC-71",
                """
                `waitForCreation(of:timeout:)` returns what is here at once and otherwise asks the server. It throws 6005 for a wrong id, 6004 \
                after the timeout, 7004 without a user, and when its task is cancelled. Several tasks can wait for one id.
                """),
            Requirement(id: "SYNC-72", "Waiting for an object that is deleted meanwhile ends with the timeout."),
            Requirement(
                id: "SYNC-73",
                """
                After each reconnect the client replays what it missed. If the server's log does not reach back so far, the client loads its lists \
                anew and keeps unsent work.
                """),
            Requirement(
                id: "SYNC-74",
                """
                No packet and no answer of the server ends the process or damages the store. Numbers, paths and times that break the protocol are \
                ignored.
                """),
        ])
}
