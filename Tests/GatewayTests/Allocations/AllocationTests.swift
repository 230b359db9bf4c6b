// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Testing

/// A guard against operations that become more expensive unnoticed. It counts heap allocations, because their number
/// depends neither on the machine nor on its load.
///
/// The thresholds hold for debug builds, which CI tests, and for one version of Swift. CONTRIBUTING.md says how to
/// change a threshold.
@Suite(
    "allocations", .enabled(if: AllocationCount.isDebugBuild, "the thresholds are those of debug builds"),
    .enabled(if: AllocationCount.isAvailable, "a sanitizer or another libc has its own allocator"),
    .timeLimit(.minutes(3)))
struct AllocationTests {
    /// The permitted deviation from a threshold, as a fraction.
    private static let tolerance = 0.05

    private final class Object {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test("allocations of Swift, of C and of its library count, and those of other threads do not")
    func counter() async throws {
        let (objects, blocks, copies, others) = try await AllocationCount.onOwnThread {
            (
                AllocationCount.mean { withExtendedLifetime(Object($0)) {} },
                AllocationCount.mean { _ in
                    UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64).deallocate()
                },
                AllocationCount.mean { _ in
                    if let program = CommandLine.unsafeArgv[0] { free(strdup(program)) }
                },
                Self.allocations(whileAnotherThreadMakes: 100_000)
            )
        }
        #expect(objects == 1)
        #expect(blocks == 1)
        #expect(copies == 1)
        // Starting a thread takes a few.
        #expect(others < 1000)
    }

    private static func allocations(whileAnotherThreadMakes objects: Int) -> UInt64 {
        let ended = DispatchSemaphore(value: 0)
        let before = AllocationCount.current
        Thread.detachNewThread {
            for number in 0..<objects { withExtendedLifetime(Object(number)) {} }
            ended.signal()
        }
        ended.wait()
        return AllocationCount.current - before
    }

    @Test("no operation allocates more than its threshold, or so much less that the threshold is outdated")
    func thresholds() async throws {
        let counts = try await AllocationCount.onOwnThread {
            try CountedOperation.allCases.map { ($0, try $0.allocations()) }
        }
        let table = counts.map { Self.line(of: $0, count: $1) }.joined(separator: "\n")
        let isEverythingWithin = counts.allSatisfy { Self.verdict(on: $0, count: $1) == nil }
        #expect(isEverythingWithin, "allocations of one operation:\n\(table)")
    }

    @Test("a count that deviates by more than 5 % is reported", arguments: CountedOperation.allCases)
    func verdicts(_ operation: CountedOperation) {
        for percent in [95.1, 100, 104.9] {
            #expect(Self.verdict(on: operation, count: operation.threshold * percent / 100) == nil)
        }
        for percent in [94.9, 105.1] {
            #expect(Self.verdict(on: operation, count: operation.threshold * percent / 100) != nil)
        }
    }

    /// Returns nil if the count is within the tolerance.
    private static func verdict(on operation: CountedOperation, count: Double) -> String? {
        if count > operation.threshold * (1 + tolerance) { return "TOO MANY" }
        if count < operation.threshold * (1 - tolerance) { return "fewer: lower the threshold" }
        return nil
    }

    private static func line(of operation: CountedOperation, count: Double) -> String {
        let verdict = verdict(on: operation, count: count) ?? "as expected"
        return "\(operation.rawValue): \(count), threshold \(operation.threshold): \(verdict)"
    }
}
