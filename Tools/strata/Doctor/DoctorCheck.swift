// SPDX-License-Identifier: Apache-2.0

struct DoctorCheck: Codable, Equatable, Sendable {
    enum Verdict: String, Codable, Sendable {
        case fine
        /// The subject works, but the operator should know the finding.
        case notice
        /// Something will not work.
        case bad
    }

    /// The thing that was examined, such as `PostgreSQL`.
    let subject: String
    let verdict: Verdict
    let finding: String
    /// The action or command that fixes the problem, if there is one.
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

    /// The printed form: a line for the finding, and one for the remedy.
    var text: String {
        let mark =
            switch verdict {
            case .fine: "✓"
            case .notice: "!"
            case .bad: "✗"
            }
        let name = subject.padding(to: 14)
        return "  \(mark) \(name) \(finding)"
            + (remedy.map { "\n" + String(repeating: " ", count: 19) + "→ \($0)" } ?? "")
    }
}

extension String {
    /// Returns the text with spaces appended up to a width.
    func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
