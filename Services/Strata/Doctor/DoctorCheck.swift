// SPDX-License-Identifier: Apache-2.0

/// What `strata doctor` found out about one thing.
struct DoctorCheck: Codable, Equatable, Sendable {
    /// How it is.
    enum Verdict: String, Codable, Sendable {
        /// All is well.
        case fine
        /// It works, but the operator should know.
        case notice
        /// Something will not work.
        case bad
    }

    /// What was looked at.
    let subject: String
    let verdict: Verdict
    /// What was found.
    let finding: String
    /// What to do about it.
    let remedy: String?

    static func fine(_ subject: String, finding: String) -> DoctorCheck {
        DoctorCheck(subject: subject, verdict: .fine, finding: finding, remedy: nil)
    }

    static func notice(_ subject: String, finding: String, remedy: String? = nil) -> DoctorCheck {
        DoctorCheck(subject: subject, verdict: .notice, finding: finding, remedy: remedy)
    }

    static func bad(_ subject: String, finding: String, remedy: String) -> DoctorCheck {
        DoctorCheck(subject: subject, verdict: .bad, finding: finding, remedy: remedy)
    }

    /// The line, or two, that are shown.
    var text: String {
        let mark =
            switch verdict {
            case .fine: "✓"
            case .notice: "!"
            case .bad: "✗"
            }
        let name = subject.padding(to: 14)
        return "  \(mark) \(name) \(finding)" + (remedy.map { "\n" + String(repeating: " ", count: 19) + "→ \($0)" } ?? "")
    }
}

extension String {
    /// With spaces behind, up to a width.
    func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
