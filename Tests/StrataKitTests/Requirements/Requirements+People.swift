// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let people = RequirementGroup(
        title: "Identities, presence, blocking and announcements", prefixes: ["IDN", "PRES", "POL", "ANN"],
        requirements: [
            Requirement(id: "IDN-1", "Identities come from the operator. StrataKit only shows them."),
            Requirement(
                id: "IDN-2",
                "Participants of the user's conversations are followed automatically. Unfollowing them has no effect."),
            Requirement(
                id: "IDN-3",
                """
                `follow(_:)` creates an identity at once; a sync sets its content and `isFollowed`. `unfollow(_:)` removes it. Offline, both are \
                queued.
                """),
            Requirement(id: "IDN-4", "Users without data from the operator have an `Identity` with only a `userID`."),
            Requirement(
                id: "PRES-1",
                """
                A status is `offline`, `available`, `busy`, `away` or `invisible`. Connecting sets `available`, or the user's last choice. Others \
                see `invisible` as offline.
                """),
            Requirement(
                id: "PRES-2",
                "A user is offline when no device is connected. A vanished device may count as online for up to 150 seconds."
            ),
            Requirement(
                id: "PRES-3",
                "`setPresence(_:)` throws `notConnected` without a connection and is never queued. The status \"auto\" restores the last one."
            ),
            Requirement(
                id: "PRES-4",
                """
                Followed users' presence changes are pushed. `lastSeenAt` changes only when a user goes offline. Without a connection, the own \
                status is `offline`.
                """),
            Requirement(
                id: "POL-1",
                "A blocked sender's messages reach none of the user's devices. All devices know the blocked users."),
            Requirement(
                id: "POL-2",
                """
                Several users can be blocked or unblocked at once, even offline; calls without effect succeed. Blocked users have no order. \
                Identity queries with `isBlocked` list them.
                """),
            Requirement(id: "POL-3", "Conversations shared with a blocked user continue without that user's messages."),
            Requirement(
                id: "ANN-1",
                "An announcement comes from the operator, outside conversations. It has separate queries and is never among messages."
            ),
            Requirement(
                id: "ANN-2",
                """
                Announcements can be read, marked as read, and deleted for the own devices. Clients cannot send them. They have no recipient \
                status.
                """),
        ])
}
