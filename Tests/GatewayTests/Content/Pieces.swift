// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization

@testable import Gateway

/// A sequence of bytes in pieces, which may end with an error.
final class Pieces: AsyncSequence, Sendable {
    struct Broken: Error {}

    let given = Atomic(0)
    private let bytes: [UInt8]
    private let length: Int
    private let breaks: Bool

    init(_ bytes: some Sequence<UInt8>, of length: Int, breaks: Bool = false) {
        self.bytes = Array(bytes)
        self.length = length
        self.breaks = breaks
    }

    struct Iterator: AsyncIteratorProtocol {
        let pieces: Pieces
        var offset = 0

        mutating func next() async throws -> ByteBuffer? {
            guard offset < pieces.bytes.count else {
                if pieces.breaks { throw Broken() }
                return nil
            }
            let piece = pieces.bytes.dropFirst(offset).prefix(pieces.length)
            offset += piece.count
            pieces.given.add(1, ordering: .relaxed)
            return ByteBuffer(bytes: piece)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }

    /// Returns bytes that differ from their neighbours.
    static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }
}

extension ContentReader {
    /// Returns the bytes from an offset, at most `count` of them.
    func read(at offset: Int, atMost count: Int) async throws -> ByteBuffer {
        var bytes = ByteBuffer()
        var pieces = pieces(of: offset..<max(offset, min(offset + count, size)))
        while let piece = try await pieces.next() { bytes.writeImmutableBuffer(piece) }
        return bytes
    }
}
