// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let messages = RequirementGroup(
        title: "Messages, parts, receipts and deletion", prefixes: ["MSG", "PART", "RCPT", "DEL"],
        requirements: [
            Requirement(
                id: "MSG-1",
                """
                `newMessage(parts:options:)` takes 1 to 1000 parts and otherwise throws `invalidMessage`. `send(_:)` adds a message to a \
                conversation, and works once.
                """),
            Requirement(
                id: "MSG-2",
                "`send(_:)` checks the message and its conversation, stores the message and returns once it is queued."),
            Requirement(
                id: "MSG-3",
                """
                After `send(_:)`, a message has its sender, `sentAt` and `receivedAt`. Its status is `read` for the sender, `pending` for others. \
                It is not unread, not sent, and has no position.
                """),
            Requirement(
                id: "MSG-4",
                "Messages accepted by the server are sent, have the server's time and position, and are `sent` for others."
            ),
            Requirement(
                id: "MSG-5",
                "Messages are sorted by position, which never changes. Unsent messages come last, in sending order."),
            Requirement(id: "MSG-6", "Positions may have gaps, but have the same order on all devices."),
            Requirement(
                id: "MSG-7", "Every message has a `receivedAt`: its arrival time or, for own messages, sending time."),
            Requirement(id: "MSG-8", "A sender without a user id has only a `displayName`."),
            Requirement(
                id: "MSG-9", "Another user's message is unread until this user reads it; own messages never are."),
            Requirement(
                id: "PART-1",
                "A MIME type without exactly one slash, or with white space, throws `invalidArgument`. `.text(_:)` creates `text/plain` in UTF-8."
            ),
            Requirement(
                id: "PART-2",
                """
                Parts up to 2 KB are sent in the message. Larger ones, up to 2 GB, are automatically uploaded before. Still larger ones throw \
                `dataLengthExceedsMaximum`.
                """),
            Requirement(id: "PART-3", "A part may be empty."),
            Requirement(
                id: "PART-4",
                """
                `transferStatus` says whether content awaits upload, uploads, is complete, awaits download or downloads. Data and file are nil \
                until available. Inline parts have no file. The MIME type determines a file's extension.
                """),
            Requirement(
                id: "PART-5",
                """
                Parts of allowed MIME type and size are downloaded automatically, newest messages first. By default, only content inside messages \
                is fetched.
                """),
            Requirement(
                id: "PART-6",
                """
                `download()` throws 1007 for local content, 1009 for inline parts. `purge()` throws 1008 for absent content, 1009 for inline \
                parts, 1006 for unsent messages. Purged content can be downloaded again.
                """),
            Requirement(
                id: "PART-7",
                """
                Above `diskCapacity`, the least recently used downloads are deleted down to 80 %; 0 means unlimited. Unsent uploads stay; purged \
                content is not downloaded automatically.
                """),
            Requirement(
                id: "PART-8",
                "At most 5 uploads and 15 downloads run concurrently. They resume after interruptions; expired URLs are renewed."
            ),
            Requirement(
                id: "PART-9", "Events report each transfer's beginning and end, with part, direction and progress."),
            Requirement(
                id: "PART-10",
                "Parts are sorted by `index`. Adding, replacing or removing parts publishes changes of the part and its message's `parts`."
            ),
            Requirement(
                id: "RCPT-1",
                "A status rises from `invalid` through `pending`, `sent` and `delivered` to `read`. It falls only when a refused read is undone."
            ),
            Requirement(
                id: "RCPT-2",
                "`recipientStatus(for:)` is `invalid` for non-participants, and `pending` for participants without a status from the server."
            ),
            Requirement(
                id: "RCPT-3",
                """
                StrataKit automatically confirms delivery of each incoming message that this user has neither received nor read. Delivery receipts \
                must be enabled, and the user still a participant.
                """),
            Requirement(
                id: "RCPT-4",
                """
                Read receipts are sent only on request: for one or several messages, a conversation or all. `markAsRead()` returns false for own \
                and already read messages.
                """),
            Requirement(
                id: "RCPT-5",
                "Marking affects messages on this device. It shows at once in `isUnread`, `hasUnreadMessages` and totals. Offline, it is queued."
            ),
            Requirement(
                id: "RCPT-6", "A read message is delivered. Reading on one device counts on all the user's devices."),
            Requirement(
                id: "RCPT-7",
                "Marking a deleted message throws 11001, one of a deleted conversation 11002, and an unsent one 1006."),
            Requirement(
                id: "RCPT-8",
                """
                A conversation can be created without delivery receipts and without read receipts. Deliveries are then unreported; reads are \
                reported only to the user's own devices.
                """),
            Requirement(
                id: "DEL-1",
                """
                `DeletionMode.myDevices` deletes on all of this user's devices. `allParticipants` deletes permanently for all participants, \
                including later participants and devices.
                """),
            Requirement(
                id: "DEL-2", "Any participant can use both deletion modes, a former participant only `myDevices`."),
            Requirement(
                id: "DEL-3",
                """
                A deletion at once publishes a change with `isDeleted` and removes the object from queries, counts and `lastMessage`. Offline, it \
                is queued. A never sent object just disappears.
                """),
            Requirement(
                id: "DEL-4",
                "Deleting a conversation deletes its messages, with a change for it and each message on this device."),
            Requirement(
                id: "DEL-5",
                "Deleting a deleted conversation throws `conversationAlreadyDeleted`. A concurrent deletion by another user is harmless."
            ),
        ])
}
