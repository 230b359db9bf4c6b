// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let progress = RequirementGroup(
        title: "Progress and errors", prefixes: ["PROG", "ERR"],
        requirements: [
            Requirement(
                id: "PROG-1",
                """
                A progress has a total, what is done and the fraction, can be cancelled or paused where it says so, and adds up its parts. \
                Cancelling an upload leaves its message unsent and failed.
                """),
            Requirement(id: "PROG-2", "Progress comes in no particular isolation; the app chooses its own."),
            Requirement(
                id: "ERR-1",
                """
                `StrataError` has LayerKit's number, a message, the errors below it, and what belongs to its code, such as the conversation that \
                exists.
                """),
            Requirement(id: "ERR-2", "A call that throws has changed nothing."),
            Requirement(
                id: "ERR-3",
                """
                Each failure after a call has returned is one `ClientEvent.operationFailed`, with the operation, the object's id and the error, and is \
                kept until the app has confirmed it.
                """),
            Requirement(
                id: "ERR-4",
                """
                Answers of the server become errors: 401 a challenge, 403 for a suspended user 7004, 404 and 410 a deleted object, 409 a conflict \
                to solve, 422 a wrong message, key or value; 429 and 5xx are retried, then 6002.
                """),
        ])
}
