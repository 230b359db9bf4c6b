// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let store = RequirementGroup(
        title: "Local store and outgoing queue", prefixes: ["STORE", "OFF"],
        requirements: [
            Requirement(id: "STORE-1", "Each session has a database on disk that survives the process. All reads come from it."),
            Requirement(id: "STORE-2", "Reading does not wait for a sync, and sees one consistent state."),
            Requirement(
                id: "STORE-3",
                "On Apple platforms, files stay out of backups, and cannot be read before the device is first unlocked.",
                exempt: "needs an Apple platform, which alone has these attributes of files"),
            Requirement(id: "STORE-4", "The client chooses the id of an object, and the id is final. Sending an object twice makes one."),
            Requirement(id: "STORE-5", "A change and its entry in the queue are stored in one transaction."),
            Requirement(
                id: "STORE-6",
                "A store that a newer version of StrataKit has written is kept as it is. Opening it throws `newerStore`."),
            Requirement(
                id: "STORE-7",
                "Without a keychain, session tokens are in a file with mode 0600 in the client's folder. No other file has them."),
            Requirement(
                id: "STORE-8",
                "On Apple platforms, session tokens are in the keychain, stay on the device, and can be read after it was first unlocked.",
                exempt: "needs an Apple platform, which alone has a keychain"),
            Requirement(id: "OFF-1", "Each session has a queue of changes that survives a restart."),
            Requirement(
                id: "OFF-2",
                """
                Changes of one conversation go out in their order, and no conversation waits for another. A message waits for the creation of its \
                conversation and for its uploads, and later messages wait behind it.
                """),
            Requirement(id: "OFF-3", "Receipts go out beside the queue, up to 4 at a time, and never delay messages."),
            Requirement(
                id: "OFF-4",
                """
                Unsent changes are folded: patches into the creation, sets of one key into the last, adding and removing one user into nothing. \
                Deleting an unsent object removes all that depends on it.
                """),
            Requirement(
                id: "OFF-5",
                "A failure that may pass is retried up to 20 times, after growing delays of up to 60 seconds. Tries do not count while offline."),
            Requirement(
                id: "OFF-6",
                """
                A change that the server refuses is undone, and the app is told by changes and a failure. A refused message stays and is marked, \
                so that the app can send it again or delete it.
                """),
            Requirement(id: "OFF-7", "`id_in_use` for an own object counts as success. Work that depends on an object deleted meanwhile is dropped."),
            Requirement(
                id: "OFF-8",
                "The app sees the server's state with all pending changes, which are applied anew after each change that arrives."),
            Requirement(id: "OFF-9", "When the session has ended, the queue stops and keeps everything until the user signs in again."),
        ])
}
