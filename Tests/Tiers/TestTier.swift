// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Testing

/// A set of tests that one command runs.
///
/// The environment variable `STRATA_TEST_TIER` selects the tier. Without it, every test runs in full, so that a filter
/// alone can select any test.
public enum TestTier: String, Sendable {
    /// The tests of `make test`. None takes longer than 20 s, and simulations run a few seeds.
    case short
    /// All tests, with all seeds of simulations: `make test-long`.
    case long

    /// The tier of this run.
    public static let current = ProcessInfo.processInfo.environment["STRATA_TEST_TIER"].flatMap(TestTier.init) ?? .long

    /// Returns the amount of work for the tier of this run.
    public static func pick<Amount>(short: Amount, long: Amount) -> Amount { current == .short ? short : long }
}

/// A trait that restricts a test or a suite to `make test-long`. Tests use `.long`.
public struct LongTest: TestTrait, SuiteTrait {
    private let condition: ConditionTrait = .enabled(if: TestTier.current == .long, "make test-long runs it")

    fileprivate init() {}

    /// True, so that tests inherit the trait from their suite.
    public var isRecursive: Bool { true }

    /// Skips the test in the short tier. In the long tier, prints the test's source location, which
    /// `scripts/test_times.py` reads.
    public func prepare(for test: Test) async throws {
        try await condition.prepare(for: test)
        let place = test.sourceLocation
        if !test.isSuite { print("Long test: \(place.fileID):\(place.line):\(place.column)") }
    }
}

extension Trait where Self == LongTest {
    /// Restricts the test to `make test-long`.
    public static var long: Self { LongTest() }
}
