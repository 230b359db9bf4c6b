// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ServiceKit

@Suite("free memory", .serialized)
struct MemoryTrimmerTests {
    private func resident() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (Int(fields[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    @Test("trimming returns free memory between used blocks to the system")
    func trim() throws {
        let blocks = (0..<65_536).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 1024, alignment: 16) }
        for block in blocks { block.initializeMemory(as: UInt8.self, repeating: 1, count: 1024) }
        // Keep one block in 64, so that the heap cannot simply shrink.
        for (index, block) in blocks.enumerated() where index % 64 != 0 { block.deallocate() }
        let before = try resident()
        #expect(MemoryTrimmer.trim(above: 1 << 20))
        #expect(before - (try resident()) > 32 << 20)
        for (index, block) in blocks.enumerated() where index % 64 == 0 { block.deallocate() }
    }

    @Test("trimming keeps free memory below the threshold")
    func little() { #expect(!MemoryTrimmer.trim(above: .max)) }
}
