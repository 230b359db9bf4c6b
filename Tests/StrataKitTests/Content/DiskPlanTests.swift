// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@testable import StrataKit

@Suite("the disk space for content")
struct DiskPlanTests {
    /// Ten files of 10 bytes, with the times of use 0, 1, 2, …
    private let files = (0..<10).map { DiskPlan.File(name: "f\($0)", size: 10, usedAt: Int64($0), isOnServer: true) }

    private func deleted(_ files: [DiskPlan.File], capacity: Int) -> [String] {
        DiskPlan(files: files, capacity: capacity).deletions.map(\.name)
    }

    @Test("files within the limit, or without one, stay", .proves("PART-7"), arguments: [0, 100, 101, 1000])
    func stays(_ capacity: Int) { #expect(deleted(files, capacity: capacity) == []) }

    @Test("files above the limit are deleted, least recently used first, until 80 % are left", .proves("PART-7"))
    func goes() {
        #expect(deleted(files, capacity: 99) == ["f0", "f1", "f2"])
        #expect(deleted(files.reversed(), capacity: 50) == ["f0", "f1", "f2", "f3", "f4", "f5"])
        #expect(deleted(files, capacity: 1).count == 10)
    }

    @Test("a deletion down to exactly 80 % is sufficient")
    func exact() {
        #expect(deleted(files + [.init(name: "new", size: 1, usedAt: 99, isOnServer: true)], capacity: 100).count == 3)
    }

    @Test("files awaiting upload stay and count", .proves("PART-7"))
    func unsent() {
        let unsent = DiskPlan.File(name: "unsent", size: 100, usedAt: -1, isOnServer: false)
        #expect(deleted(files + [unsent], capacity: 150) == (0..<8).map { "f\($0)" })
        #expect(deleted([unsent], capacity: 10) == [])
    }

    @Test("files with the same last use are deleted in the order of names")
    func ties() {
        let files = ["b", "a", "c"].map { DiskPlan.File(name: $0, size: 10, usedAt: 0, isOnServer: true) }
        #expect(deleted(files, capacity: 20) == ["a", "b"])
    }

    @Test("the largest limit does not overflow") func huge() { #expect(deleted(files, capacity: .max) == []) }
}
