// SPDX-License-Identifier: Apache-2.0

/// One thing that StrataKit does for an app.
struct Requirement: Hashable {
    /// Its group and a number, for example `META-6`. Numbers are never given anew.
    let id: String
    /// What StrataKit does, in Markdown, for the cell of a table.
    let sentence: String
    /// Why no test can be here, beginning with "needs"; nil if a test can.
    let exempt: String?

    init(id: String, _ sentence: String, exempt: String? = nil) {
        self.id = id
        self.sentence = sentence
        self.exempt = exempt
    }
}

/// Requirements about one subject: a section of `docs/stratakit.md`.
struct RequirementGroup: Hashable {
    let title: String
    /// The letters before the hyphen in its ids.
    let prefixes: [String]
    let requirements: [Requirement]
}

/// All that StrataKit promises. Tests name what they prove with `.proves(…)`.
enum Requirements {
    /// Whether a requirement without a test is a failure. As long as it is not, `docs/stratakit.md` lists these.
    static let everyRowMustBeProven = true

    static let groups = [
        metadata, typing, sync, conversations, client, store, changes, messages, queries, people, push, progress,
    ]
}
