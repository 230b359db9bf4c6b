// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let queries = RequirementGroup(
        title: "Queries and query controllers", prefixes: ["QRY", "QC"],
        requirements: [
            Requirement(
                id: "QRY-1",
                """
                Queries find conversations, messages, parts, announcements and identities on this device. They leave out deleted objects, and \
                conversations made here that have no message yet; empty ones that the server has are found.
                """),
            Requirement(
                id: "QRY-2",
                "A predicate is a property, an operator and a value. Operators compare for equality and order, look into lists, and match patterns."),
            Requirement(id: "QRY-3", "Predicates are combined with `and`, `or` and `not`. `not` takes exactly one."),
            Requirement(id: "QRY-4", "A property can be compared with nil, for equality alone."),
            Requirement(id: "QRY-5", "`limit` and `offset` choose a range of the result. Without a limit the offset has no effect."),
            Requirement(id: "QRY-6", "Several sort keys order the result; ties are ordered by id."),
            Requirement(id: "QRY-7", "A query gives objects, ids or a count. Each object comes once, in order."),
            Requirement(
                id: "QRY-8",
                "A wrong property throws 12000, a wrong operator 12001 and a wrong sort key 12002, unless the compiler refused it before."),
            Requirement(
                id: "QRY-9",
                """
                In a pattern, `%` is any text and `_` any one character; ASCII case does not matter. Patterns work for the names and the email \
                address of identities.
                """),
            Requirement(
                id: "QRY-10",
                "Comparing `participants` for equality compares the exact set, with this user added by itself. `in` and `not in` add no one."),
            Requirement(
                id: "QRY-11",
                "`metadata` is compared as a whole or by key path, for equality and lists. An absent path is unequal to every text."),
            Requirement(id: "QRY-12", "A query without a signed-in user throws."),
            Requirement(id: "QC-1", "A query controller holds the result of a query and keeps it current. It has one section."),
            Requirement(
                id: "QC-2",
                "An update holds its changes and the result after them. An insert has a new index, a delete and an update an old one, a move both."),
            Requirement(
                id: "QC-3",
                """
                There is no update if nothing in the result has changed. Objects that were inserted or deleted have no update of their own in the \
                same step.
                """),
            Requirement(id: "QC-4", "An object moves also when the sort key belongs to a related object, such as the last message."),
            Requirement(
                id: "QC-5",
                """
                `updatableProperties` chooses which properties give updates: nil all, an empty set none. Inserts, deletes and moves come in any \
                case.
                """),
            Requirement(
                id: "QC-6",
                """
                `paginationWindow` shows the first or, if negative, the last objects. Widening it inserts objects. It grows with objects that \
                arrive inside it, not with those outside.
                """),
            Requirement(
                id: "QC-7",
                """
                Objects can be looked up by index and indices by object or ids. An index out of range gives nil, and ids outside the result are \
                left out.
                """),
            Requirement(id: "QC-8", "Executing while an execution is running throws 5000. Making a controller needs a signed-in user."),
        ])
}
