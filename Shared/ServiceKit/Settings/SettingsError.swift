// SPDX-License-Identifier: Apache-2.0

/// A missing or unusable setting. Its description is one line that names the key and the expected value, and never
/// shows the given value.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of problem.
    public enum Problem: String, Sendable {
        /// The setting has no default and was not given.
        case missing
        /// The given value is unusable.
        case invalid
    }

    /// The key, as it is written in the environment.
    public let key: String
    /// The problem with the setting.
    public let problem: Problem
    /// The expected value, as a phrase: "an integer from 1 to 65535".
    public let expected: String

    /// Creates an error about one setting.
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
