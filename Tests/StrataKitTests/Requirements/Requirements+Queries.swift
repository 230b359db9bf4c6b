// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let queries = RequirementGroup(
        title: "Queries and query controllers", prefixes: ["QRY", "QC"],
        requirements: [
            Requirement(
                id: "QRY-1",
                """
                Queries find conversations, messages, parts, announcements and identities on this device. They omit deleted objects and \
                conversations created here without a message, but find empty ones from the server.
                """),
            Requirement(
                id: "QRY-2",
                "A predicate is a property, an operator and a value. Operators test equality and order, search lists, and match patterns."
            ),
            Requirement(id: "QRY-3", "`and`, `or` and `not` combine predicates. `not` takes exactly one."),
            Requirement(id: "QRY-4", "A property can be compared with nil only for equality."),
            Requirement(
                id: "QRY-5",
                "`limit` and `offset` select a range of the result. Without a limit, the offset has no effect."),
            Requirement(id: "QRY-6", "Several sort keys order the result; ids break ties."),
            Requirement(
                id: "QRY-7", "A query returns objects, ids or a count. Objects are in order, without duplicates."),
            Requirement(
                id: "QRY-8",
                "Unless the compiler refuses it, a wrong property throws 12000, operator 12001, sort key 12002."),
            Requirement(
                id: "QRY-9",
                """
                In patterns, `%` matches any text and `_` any character, ignoring ASCII case. Patterns work for names and email addresses of \
                identities.
                """),
            Requirement(
                id: "QRY-10",
                "Comparing `participants` for equality compares the exact set, automatically including this user. `in` and `not in` add no one."
            ),
            Requirement(
                id: "QRY-11",
                "`metadata` is compared whole or by key path, for equality and lists. Absent paths are unequal to every text."
            ),
            Requirement(id: "QRY-12", "A query without a signed-in user throws."),
            Requirement(id: "QC-1", "A query controller keeps the result of a query current. It has one section."),
            Requirement(
                id: "QC-2",
                "An update holds its changes and the new result. Inserts have a new index, deletes and updates an old one, moves both."
            ),
            Requirement(
                id: "QC-3",
                "Unchanged results give no update. Inserted or deleted objects have no other update in that step."),
            Requirement(
                id: "QC-4", "Objects also move if the sort key belongs to a related object, such as the last message."),
            Requirement(
                id: "QC-5",
                """
                `updatableProperties` selects the properties that give updates: nil all, an empty set none. Inserts, deletes and moves are always \
                reported.
                """),
            Requirement(
                id: "QC-6",
                """
                `paginationWindow` shows the first or, if negative, last objects. Widening it inserts objects. Objects that arrive inside it, not \
                outside, extend it.
                """),
            Requirement(
                id: "QC-7",
                "Objects can be looked up by index, and indices by object or ids. Invalid indices give nil; ids outside the result are omitted."
            ),
            Requirement(
                id: "QC-8",
                "Executing during an execution throws 5000. Creating a controller requires a signed-in user."),
        ])
}
