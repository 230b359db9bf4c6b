// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let store = RequirementGroup(
        title: "Local store and outgoing queue", prefixes: ["STORE", "OFF"],
        requirements: [
            Requirement(id: "STORE-1", "Each session has a persistent database on disk, which serves all reads."),
            Requirement(id: "STORE-2", "Reads do not wait for a sync, and see one consistent state."),
            Requirement(
                id: "STORE-3",
                "On Apple platforms, files are excluded from backups, and unreadable before the device's first unlock.",
                exempt: "needs the file attributes of an Apple platform"),
            Requirement(
                id: "STORE-4", "The client chooses an object's id, which is final. Sending an object twice creates one."
            ),
            Requirement(id: "STORE-5", "A change and its queue entry are stored in one transaction."),
            Requirement(
                id: "STORE-6", "A store of a newer StrataKit version stays unchanged. Opening it throws `newerStore`."),
            Requirement(
                id: "STORE-7",
                "Without a keychain, session tokens are only in a file with mode 0600 in the client's folder."),
            Requirement(
                id: "STORE-8",
                "On Apple platforms, session tokens are in the keychain, stay on the device, and are readable after its first unlock.",
                exempt: "needs the keychain of an Apple platform"),
            Requirement(id: "OFF-1", "Each session has a persistent queue of changes."),
            Requirement(
                id: "OFF-2",
                """
                Changes are sent in order within a conversation; conversations do not wait for each other. Messages wait for their conversation's \
                creation, their uploads, and earlier messages.
                """),
            Requirement(id: "OFF-3", "Receipts bypass the queue, up to 4 at a time, and never delay messages."),
            Requirement(
                id: "OFF-4",
                """
                Unsent changes are merged: patches into the creation, sets of one key into the last. Adding and removing a user cancel out. \
                Deleting an unsent object removes its dependents.
                """),
            Requirement(
                id: "OFF-5",
                "Temporary failures are retried up to 20 times, with growing delays of up to 60 seconds. Offline attempts do not count."
            ),
            Requirement(
                id: "OFF-6",
                """
                Changes refused by the server are undone, and reported by changes and a failure. A refused message stays, marked, so that the app \
                can resend or delete it.
                """),
            Requirement(
                id: "OFF-7",
                "`id_in_use` for an own object counts as success. Work for objects deleted meanwhile is dropped."),
            Requirement(
                id: "OFF-8",
                "The app sees the server's state with all pending changes, reapplied after each incoming change."),
            Requirement(
                id: "OFF-9",
                "When the session ends, the queue stops and keeps everything until the user signs in again."),
        ])
}
