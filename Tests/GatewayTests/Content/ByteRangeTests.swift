// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import FanOut
@testable import Gateway

@Suite("byte ranges")
struct ByteRangeTests {
    @Test("each form of a single range is parsed")
    func part() {
        #expect(ByteRange("bytes=0-9", size: 100) == .part(0..<10))
        #expect(ByteRange("bytes=10-", size: 100) == .part(10..<100))
        #expect(ByteRange("bytes=-10", size: 100) == .part(90..<100))
        #expect(ByteRange("bytes=-1000", size: 100) == .part(0..<100))
        #expect(ByteRange("bytes=99-99", size: 100) == .part(99..<100))
        #expect(ByteRange("bytes=50-1000", size: 100) == .part(50..<100))
        #expect(ByteRange("Bytes= 5 - 6", size: 100) == .part(5..<7))
        #expect(ByteRange("bytes=5-99999999999999999999999", size: 100) == .part(5..<100))
        #expect(ByteRange("bytes=5-9223372036854775807", size: 100) == .part(5..<100))
    }

    @Test("a range that begins beyond the end is not satisfiable")
    func unsatisfiable() {
        for header in ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999999-"] {
            #expect(ByteRange(header, size: 100) == .unsatisfiable)
        }
        for header in ["bytes=0-", "bytes=-1", "bytes=0-0"] { #expect(ByteRange(header, size: 0) == .unsatisfiable) }
    }

    @Test("an invalid or multiple range is answered with the whole content")
    func everything() {
        #expect(ByteRange(nil, size: 100) == .everything)
        for header in [
            "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=9-5", "bytes=0-1,5-6", "lines=1-2", "bytes=1-2-3",
            "bytes=--1", "bytes=+1-2",
        ] {
            #expect(ByteRange(header, size: 100) == .everything, "\(header)")
        }
    }
}
