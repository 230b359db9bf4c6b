// SPDX-License-Identifier: Apache-2.0

/// The version number in the output of a program's `--version`.
struct ProgramVersion: Equatable, Sendable {
    /// The version, `15.13` for example.
    let text: String
    /// The major version, 15 for example.
    let major: Int

    /// Finds the first number with digits and dots in a text such as `postgres (PostgreSQL) 15.13 (Debian …)` or `Redis
    /// server v=7.0.15 sha=…`.
    init?(in output: String) {
        var found = ""
        for character in output {
            if character.isASCII, character.isNumber || (character == "." && !found.isEmpty) {
                found.append(character)
            } else if !found.isEmpty {
                break
            }
        }
        while found.hasSuffix(".") { found.removeLast() }
        guard let major = found.split(separator: ".").first.flatMap({ Int($0) }) else { return nil }
        self.text = found
        self.major = major
    }
}
