// SPDX-License-Identifier: Apache-2.0

/// A requirement: one feature that StrataKit offers to an app.
struct Requirement: Hashable {
    /// The id: group and number, for example `META-6`. Numbers are never reused.
    let id: String
    /// The feature in Markdown, for a table cell.
    let sentence: String
    /// The reason why no test can prove the requirement here, starting with "needs"; nil if a test can.
    let exempt: String?

    init(id: String, _ sentence: String, exempt: String? = nil) {
        self.id = id
        self.sentence = sentence
        self.exempt = exempt
    }
}

/// The requirements of one subject: a section of `docs/stratakit.md`.
struct RequirementGroup: Hashable {
    let title: String
    let prefixes: [String]
    let requirements: [Requirement]
}

/// All requirements of StrataKit. Tests name the requirements that they prove with `.proves(…)`.
enum Requirements {
    /// True if a requirement without a test is a failure. If false, `docs/stratakit.md` lists these requirements.
    static let everyRowMustBeProven = true

    static let groups = [
        metadata, typing, sync, conversations, client, store, changes, messages, queries, people, push, progress,
    ]
}
