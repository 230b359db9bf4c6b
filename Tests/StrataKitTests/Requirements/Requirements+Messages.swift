// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let messages = RequirementGroup(
        title: "Messages, parts, receipts and deletion", prefixes: ["MSG", "PART", "RCPT", "DEL"],
        requirements: [
            Requirement(
                id: "MSG-1",
                """
                `newMessage(parts:options:)` takes 1 to 1000 parts and otherwise throws `invalidMessage`. `send(_:)` puts a message into a \
                conversation, and works once.
                """),
            Requirement(
                id: "MSG-2",
                """
                `send(_:)` checks the message and its conversation, stores the message and puts it in the queue. When it returns, the message is \
                in the queue.
                """),
            Requirement(
                id: "MSG-3",
                """
                After `send(_:)` a message has its sender, `sentAt` and `receivedAt`. Its status is `read` for the sender and `pending` for \
                others. It is not unread, not sent, and has no position.
                """),
            Requirement(
                id: "MSG-4",
                "When the server has accepted a message, it is sent, has the server's time and position, and is `sent` for others."),
            Requirement(
                id: "MSG-5",
                "Messages are in the order of their positions, which never change. Unsent ones come last, in the order of sending."),
            Requirement(id: "MSG-6", "Positions may have gaps. Their order is the same on all devices."),
            Requirement(id: "MSG-7", "Every message has a `receivedAt`: when it reached the user, or, for own messages, when it was sent."),
            Requirement(id: "MSG-8", "A sender without a user id has only a `displayName`."),
            Requirement(id: "MSG-9", "A message of another user is unread until this user has read it. Own messages never are."),
            Requirement(
                id: "PART-1",
                "A MIME type has one slash and no white space, or the part throws `invalidArgument`. `.text(_:)` makes `text/plain` in UTF-8."),
            Requirement(
                id: "PART-2",
                """
                Parts of up to 2 KB travel in the message. Larger ones, up to 2 GB, are uploaded before it, without any step of the app. Still \
                larger ones throw `dataLengthExceedsMaximum`.
                """),
            Requirement(id: "PART-3", "A part may be empty."),
            Requirement(
                id: "PART-4",
                """
                `transferStatus` says whether content waits for upload, uploads, is complete, is ready for download or downloads. Data and file \
                are nil until they are here. A part that travels in the message has no file. A file's extension follows from the MIME type.
                """),
            Requirement(
                id: "PART-5",
                """
                Parts are downloaded by themselves if their MIME type and their size are allowed, the newest messages first. The default is no \
                content outside of messages.
                """),
            Requirement(
                id: "PART-6",
                """
                `download()` throws 1007 if the content is here, and 1009 for inline parts. `purge()` throws 1008 if it is gone, 1009 for inline \
                parts, and 1006 if the message is not sent. Purged content can be downloaded again.
                """),
            Requirement(
                id: "PART-7",
                """
                Above `diskCapacity` the downloads used longest ago are deleted down to 80 %; 0 means no limit. Unsent uploads stay, and what was \
                purged is not downloaded by itself.
                """),
            Requirement(
                id: "PART-8",
                "At most 5 uploads and 15 downloads run at once. They resume after an interruption, and expired URLs are renewed."),
            Requirement(id: "PART-9", "Events tell when a transfer begins and ends, with part, direction and progress."),
            Requirement(
                id: "PART-10",
                """
                Parts are in the order of `index`. Parts can be added, replaced and removed; that publishes changes of the part, and of `parts` of \
                its message.
                """),
            Requirement(
                id: "RCPT-1",
                """
                A status goes up from `invalid` through `pending`, `sent` and `delivered` to `read`. It goes down only when a refused reading is \
                undone.
                """),
            Requirement(
                id: "RCPT-2",
                """
                `recipientStatus(for:)` is `invalid` for a user who is no participant, and `pending` for a participant of whom the server says \
                nothing.
                """),
            Requirement(
                id: "RCPT-3",
                """
                StrataKit itself confirms the delivery of each incoming message that was neither delivered to nor read by this user, if deliveries \
                are told and the user is still a participant.
                """),
            Requirement(
                id: "RCPT-4",
                """
                Reading is told only on request: for a message, several, a conversation or all. For an own message, and one read before, \
                `markAsRead()` returns false.
                """),
            Requirement(
                id: "RCPT-5",
                """
                Marking concerns the messages on this device. It shows at once in `isUnread`, `hasUnreadMessages` and totals, and waits in the \
                queue while offline.
                """),
            Requirement(id: "RCPT-6", "A message that is read is delivered. Reading on one device counts on all devices of the user."),
            Requirement(id: "RCPT-7", "Marking a deleted message throws 11001, one of a deleted conversation 11002, and one that is not sent 1006."),
            Requirement(
                id: "RCPT-8",
                """
                A conversation can be made without delivery receipts, and without read receipts. Deliveries are then not told, and reading only to \
                the user's own devices.
                """),
            Requirement(
                id: "DEL-1",
                """
                `DeletionMode.myDevices` deletes for this user, on all their devices. `allParticipants` deletes for all participants, for good, \
                also for later participants and devices.
                """),
            Requirement(id: "DEL-2", "Any participant can delete in both ways; a former participant only with `myDevices`."),
            Requirement(
                id: "DEL-3",
                """
                A deletion shows at once: a change with `isDeleted`, out of queries, with counts and `lastMessage` as they are without it. It \
                waits in the queue while offline. An object that was never sent just vanishes.
                """),
            Requirement(id: "DEL-4", "Deleting a conversation deletes its messages, with a change for it and one for each message on this device."),
            Requirement(
                id: "DEL-5",
                """
                Deleting a deleted conversation throws `conversationAlreadyDeleted`. If another user has deleted it meanwhile, the deletion is \
                harmless.
                """),
        ])
}
