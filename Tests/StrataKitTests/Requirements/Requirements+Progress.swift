// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let progress = RequirementGroup(
        title: "Progress and errors", prefixes: ["PROG", "ERR"],
        requirements: [
            Requirement(
                id: "PROG-1",
                """
                A progress has a total, completed amount and fraction, sums its parts, and can be cancelled or paused if it says so. Cancelling an \
                upload leaves its message unsent and failed.
                """),
            Requirement(id: "PROG-2", "Progress arrives in no particular isolation; the app chooses one."),
            Requirement(
                id: "ERR-1",
                "`StrataError` has LayerKit's number, a message, underlying errors, and details such as the existing conversation."
            ),
            Requirement(id: "ERR-2", "A call that throws changes nothing."),
            Requirement(
                id: "ERR-3",
                """
                Each failure after a call returned is a `ClientEvent.operationFailed` with operation, object id and error. It is kept until the \
                app confirms it.
                """),
            Requirement(
                id: "ERR-4",
                """
                Server answers become errors: 401 a challenge, 403 for a suspended user 7004, 404 and 410 a deleted object. 409 is a conflict to \
                resolve, 422 a wrong message, key or value. 429 and 5xx are retried, then 6002.
                """),
        ])
}
