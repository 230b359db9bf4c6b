// SPDX-License-Identifier: Apache-2.0
public import Testing

/// The requirements of StrataKit that a test proves: `@Test("siblings stay", .proves("META-6"))`.
///
/// The trait does not change how a test runs. `docs/stratakit.md` is generated from the sources, so that neither the
/// order of tests nor a filter affects it. Therefore the ids must be plain string literals.
public struct Proves: TestTrait, SuiteTrait {
    /// The ids of requirements, such as `META-6`.
    public let ids: [String]

    /// Creates the trait. Tests use `.proves(…)` instead.
    package init(ids: [String]) { self.ids = ids }

    /// Fails the test if an id is malformed.
    /// - Throws: ``MalformedRequirementID``.
    public func prepare(for test: Test) async throws {
        for id in ids where !Self.isWellFormed(id) { throw MalformedRequirementID(id: id) }
    }

    /// Returns true if a text consists of capital letters, a hyphen, and a number without leading zeros.
    public static func isWellFormed(_ id: String) -> Bool {
        let halves = id.split(separator: "-", omittingEmptySubsequences: false)
        guard halves.count == 2, let number = Int(halves[1]) else { return false }
        return !halves[0].isEmpty && halves[0].utf8.allSatisfy { (0x41...0x5a).contains($0) } && number > 0
            && halves[1] == "\(number)"
    }
}

extension Trait where Self == Proves {
    /// Declares that the test proves these requirements.
    /// - Parameter ids: String literals such as `"META-6"`.
    public static func proves(_ ids: String...) -> Self { Proves(ids: ids) }
}

/// An argument of `.proves(…)` that is not a requirement id.
public struct MalformedRequirementID: Error, Equatable, CustomStringConvertible {
    let id: String

    init(id: String) { self.id = id }

    /// The invalid id, with an example of a valid one.
    public var description: String { "\"\(id)\" is not the id of a requirement, such as META-6" }
}
