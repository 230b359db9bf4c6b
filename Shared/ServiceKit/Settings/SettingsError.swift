// SPDX-License-Identifier: Apache-2.0

/// A setting that is missing or unusable. Its description is one line that names the key and what is expected, and never shows a value.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong.
    public enum Problem: String, Sendable {
        /// It has no default and was not given.
        case missing
        /// It was given and cannot be used.
        case invalid
    }

    /// The key, as it is written in the environment.
    public let key: String
    /// What is wrong with it.
    public let problem: Problem
    /// What would be right, as a phrase: "an integer from 1 to 65535".
    public let expected: String

    /// An error about one setting.
    public init(key: String, problem: Problem, expected: String) {
        self.key = key
        self.problem = problem
        self.expected = expected
    }

    /// `missing setting STRATA_X: expected …`
    public var description: String {
        "\(problem.rawValue) setting \(key): expected \(expected)"
    }
}
