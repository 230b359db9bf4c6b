// SPDX-License-Identifier: Apache-2.0
public import Testing

/// Names the requirements of StrataKit that a test proves: `@Test("siblings stay", .proves("META-6"))`.
///
/// The trait changes nothing about how a test runs. `docs/stratakit.md` is made from it by reading the sources, so that neither the order of tests nor a
/// filter has an effect on the document. Therefore the ids must be plain string literals.
public struct Proves: TestTrait, SuiteTrait {
    /// For example `META-6`.
    public let ids: [String]

    /// In sources write `.proves(…)`.
    package init(ids: [String]) { self.ids = ids }

    /// Fails the test if an id does not have the form of one.
    /// - Throws: ``MalformedRequirementID``.
    public func prepare(for test: Test) async throws {
        for id in ids where !Self.isWellFormed(id) { throw MalformedRequirementID(id: id) }
    }

    /// Whether a text is capital letters, a hyphen and a number without leading zeros.
    public static func isWellFormed(_ id: String) -> Bool {
        let halves = id.split(separator: "-", omittingEmptySubsequences: false)
        guard halves.count == 2, let number = Int(halves[1]) else { return false }
        return !halves[0].isEmpty && halves[0].utf8.allSatisfy { (0x41...0x5a).contains($0) } && number > 0 && halves[1] == "\(number)"
    }
}

extension Trait where Self == Proves {
    /// The test proves these requirements.
    /// - Parameter ids: string literals such as `"META-6"`.
    public static func proves(_ ids: String...) -> Self { Proves(ids: ids) }
}

/// What stands in a `.proves(…)` is not the id of a requirement.
public struct MalformedRequirementID: Error, Equatable, CustomStringConvertible {
    let id: String

    init(id: String) { self.id = id }

    /// The id, and how one looks.
    public var description: String { "\"\(id)\" is not the id of a requirement, such as META-6" }
}
