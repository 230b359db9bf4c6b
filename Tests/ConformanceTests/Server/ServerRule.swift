// SPDX-License-Identifier: Apache-2.0

import Testing

enum ServerAPIVersion: String, CaseIterable, Sendable, Comparable {
    case v1 = "1.0"
    case v11 = "1.1"
    case v2 = "2.0"
    case v3 = "3.0"

    static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// Versions in which users are identified by their ids alone.
    static let old: [Self] = [.v1, .v11]
    /// Versions in which users are identity objects.
    static let new: [Self] = [.v2, .v3]
}

/// One rule of the Server API: a sentence, and a check that decides whether the server keeps it.
struct ServerRule: Sendable {
    /// The id of the rule's statement in the API's description.
    let id: String
    /// The requirement, in one sentence.
    let text: String
    let versions: [ServerAPIVersion]
    /// The reason why this server does not keep the rule; nil if it does.
    let exception: String?
    let location: SourceLocation
    let check: @Sendable (ServerFixture) async throws -> Void

    init(
        _ number: Int, _ text: String, _ versions: [ServerAPIVersion] = ServerAPIVersion.allCases,
        fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column,
        check: @escaping @Sendable (ServerFixture) async throws -> Void
    ) {
        id = "SRV-\(number)"
        self.text = text
        self.versions = versions
        exception = nil
        location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
        self.check = check
    }

    /// Creates a rule that this server intentionally does not keep. It is not run.
    init(
        _ number: Int, _ text: String, _ versions: [ServerAPIVersion] = ServerAPIVersion.allCases,
        except reason: String,
        fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) {
        id = "SRV-\(number)"
        self.text = text
        self.versions = versions
        exception = reason
        location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
        check = { _ in }
    }

    var name: String { "\(id) \(text)" }
    var number: Int { Int(id.dropFirst("SRV-".count)) ?? 0 }
}

/// A rule in one version: the unit that is run and passes or fails.
struct ServerRuleCase: Sendable, Hashable, CustomTestStringConvertible {
    let rule: ServerRule
    let version: ServerAPIVersion

    var name: String { "\(rule.name) (\(version.rawValue))" }
    var testDescription: String { name }

    static func == (one: ServerRuleCase, other: ServerRuleCase) -> Bool { one.name == other.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
