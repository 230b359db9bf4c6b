// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let client = RequirementGroup(
        title: "Client, authentication and sessions", prefixes: ["CLNT", "AUTH", "SESS"],
        requirements: [
            Requirement(
                id: "CLNT-1",
                "A process has at most one client per store. A second throws `storeInUse`; another path is another store."
            ),
            Requirement(id: "CLNT-2", "Apps and users have separate stores."),
            Requirement(
                id: "CLNT-3",
                """
                `connect()` opens the connection, resumes a stored session and syncs. It throws 6000 if already connected, and 6001 for a wrong \
                app id.
                """),
            Requirement(
                id: "CLNT-4",
                """
                A lost connection is an event with the error. The client retries at once, then with growing delays, and announces each attempt. It \
                reports "disconnected" only after `disconnect()` or giving up.
                """),
            Requirement(id: "CLNT-5", "A connection to a reachable but silent server counts as lost."),
            Requirement(
                id: "CLNT-6",
                "Reading works without a connection. Without a user, calls that need one throw `notAuthenticated`."),
            Requirement(
                id: "AUTH-1",
                "A nonce and an identity token of the app's backend create a session. `authenticate(identityToken:)` returns the user's identity."
            ),
            Requirement(
                id: "AUTH-2",
                """
                Another token of the signed-in user signs them in again. Another user's token throws `alreadyAuthenticated` with the current \
                user's id.
                """),
            Requirement(
                id: "AUTH-3", "The latest of several concurrent sign-ins continues. Earlier ones are cancelled."),
            Requirement(
                id: "AUTH-4",
                """
                When the server requires a new sign-in, `authenticationChallenges` gives the nonce. The store stays; the queue continues \
                afterwards. During `connect()`, that call throws instead.
                """),
            Requirement(
                id: "AUTH-5",
                """
                `deauthenticate()` forgets the user, deletes their local data, and ends transfers and waiting calls, even offline. Repeating it is \
                harmless.
                """),
            Requirement(id: "AUTH-6", "Tokens rejected by the server throw `invalidToken`."),
            Requirement(
                id: "AUTH-7",
                """
                If the process ends during `deauthenticate()` or `destroySession(_:)`, the app's next client removes the session's remains. It \
                also removes stores without a session.
                """),
            Requirement(
                id: "SESS-1",
                """
                A client keeps several sessions, one of them current. `switchSession(to:)` changes users without signing out; streams continue \
                with the other store.
                """),
            Requirement(
                id: "SESS-2",
                "A session is `unauthenticated`, `authenticated` or `challenged`. Challenged sessions send nothing."),
            Requirement(
                id: "SESS-3",
                "An unknown session throws 12001, a duplicate 12002. Destroying a session removes its database."),
            Requirement(
                id: "SESS-4",
                """
                If sessions or tokens are unreadable, for example on a locked device, creating a client throws `devicePersistenceFailure`. No file \
                is changed or removed.
                """),
        ])
}
