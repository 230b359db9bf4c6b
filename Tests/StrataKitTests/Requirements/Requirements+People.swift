// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let people = RequirementGroup(
        title: "Identities, presence, blocking and announcements", prefixes: ["IDN", "PRES", "POL", "ANN"],
        requirements: [
            Requirement(id: "IDN-1", "Identities come from the operator. StrataKit shows them and changes none."),
            Requirement(id: "IDN-2", "Participants of the user's conversations are followed without a call. Unfollowing them has no effect."),
            Requirement(
                id: "IDN-3",
                """
                `follow(_:)` makes an identity at once, which is filled, and `isFollowed`, after it is synced. `unfollow(_:)` removes it. Both \
                wait in the queue while offline.
                """),
            Requirement(id: "IDN-4", "A user of whom the operator says nothing has an `Identity` with only a `userID`."),
            Requirement(
                id: "PRES-1",
                """
                A status is `offline`, `available`, `busy`, `away` or `invisible`. Connecting makes a user available, or what they chose last. \
                Others see an invisible user as offline.
                """),
            Requirement(
                id: "PRES-2",
                "A user is offline when none of their devices is connected. A device that vanishes may count as online for up to 150 seconds."),
            Requirement(
                id: "PRES-3",
                "`setPresence(_:)` throws `notConnected` without a connection and is never queued. The status \"auto\" restores the last one."),
            Requirement(
                id: "PRES-4",
                """
                Changed presence of followed users is pushed. `lastSeenAt` changes only when a user goes offline. Without a connection, the user's \
                own status shows `offline`.
                """),
            Requirement(
                id: "POL-1",
                "A user blocks a sender, and that sender's messages reach none of the user's devices. All devices know whom the user has blocked."),
            Requirement(
                id: "POL-2",
                """
                Users are blocked and unblocked several at a time, offline too; what has no effect is no error. Blocked users have no order: a query for \
                identities with `isBlocked` lists them.
                """),
            Requirement(
                id: "POL-3",
                "Conversations shared with a blocked user go on without that user's messages."),
            Requirement(
                id: "ANN-1",
                "An announcement comes from the operator and is in no conversation. It has queries of its own and is never among messages."),
            Requirement(
                id: "ANN-2",
                """
                Announcements can be read, marked as read, and deleted for the own devices. Clients cannot send them, and they have no status by \
                recipient.
                """),
        ])
}
