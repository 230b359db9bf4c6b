// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let client = RequirementGroup(
        title: "Client, authentication and sessions", prefixes: ["CLNT", "AUTH", "SESS"],
        requirements: [
            Requirement(
                id: "CLNT-1",
                "A process has at most one client for a store. A second one throws `storeInUse`; another path is another store."),
            Requirement(id: "CLNT-2", "Apps and users have stores of their own."),
            Requirement(
                id: "CLNT-3",
                """
                `connect()` opens the connection, resumes a stored session and begins to sync. It throws 6000 if connected already, and 6001 for a \
                wrong app id.
                """),
            Requirement(
                id: "CLNT-4",
                """
                A lost connection is an event with the error. The client tries again at once, then with growing delays, and announces each try. It \
                says "disconnected" only after `disconnect()` or when it gives up.
                """),
            Requirement(id: "CLNT-5", "A server that can be reached and stays silent counts as lost."),
            Requirement(id: "CLNT-6", "Without a connection, reading works. Without a user, a call that needs one throws `notAuthenticated`."),
            Requirement(
                id: "AUTH-1",
                "A nonce and an identity token of the app's backend make a session. `authenticate(identityToken:)` returns the user's identity."),
            Requirement(
                id: "AUTH-2",
                """
                While a user is signed in, another token of theirs signs them in anew. A token of another user throws `alreadyAuthenticated` with \
                the id of the present one.
                """),
            Requirement(id: "AUTH-3", "Of several attempts to sign in at once, the latest goes on and the earlier ones are cancelled."),
            Requirement(
                id: "AUTH-4",
                """
                When the server demands that the user signs in again, `authenticationChallenges` gives the nonce. The store stays, and the queue \
                goes on afterwards. If this happens during `connect()`, that call throws instead.
                """),
            Requirement(
                id: "AUTH-5",
                """
                `deauthenticate()` forgets the user, deletes their data from the device and ends transfers and waiting calls, also while offline. \
                Calling it again is harmless.
                """),
            Requirement(id: "AUTH-6", "A token that the server does not accept throws `invalidToken`."),
            Requirement(
                id: "AUTH-7",
                """
                If the process ends while `deauthenticate()` or `destroySession(_:)` runs, the next client of the app removes what is left of the \
                session. A store that belongs to no session is removed as well.
                """),
            Requirement(
                id: "SESS-1",
                """
                A client keeps several sessions, one of them current. `switchSession(to:)` changes the user without signing out; streams go on \
                with the other store.
                """),
            Requirement(id: "SESS-2", "A session is `unauthenticated`, `authenticated` or `challenged`. Nothing is sent for a challenged one."),
            Requirement(id: "SESS-3", "An unknown session throws 12001 and a duplicate 12002. Destroying a session removes its database."),
            Requirement(
                id: "SESS-4",
                """
                If sessions or tokens cannot be read, for example while the device is locked, no client is made: it throws \
                `devicePersistenceFailure`. No file is changed or removed.
                """),
        ])
}
