// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

/// Where the bytes of rich content are kept (docs/conformance.md §8): files for now; an object store can take their place.
///
/// Content never changes once it is written. Each content has one upload at a time: a later one ends an earlier one, and the bytes of that are gone. So an upload
/// URL that is used many times at once takes no more room than its quota counts.
protocol ContentStore: Sendable {
    /// Keeps exactly `size` bytes, durably once this returns. After an error nothing of them is left.
    /// - Parameters:
    ///   - type: handed back when the content is read.
    ///   - bytes: read as fast as they are stored, and not on once there are too many.
    func write<Bytes: AsyncSequence & Sendable>(
        _ id: ContentID, type: String, size: Int, from bytes: Bytes
    ) async throws(ContentStoreError) where Bytes.Element == ByteBuffer

    /// - Returns: nil if there is no such content, or not all of it yet.
    func open(_ id: ContentID) async throws(ContentStoreError) -> (any ContentReader)?

    /// Removes the content, if there is any. Readers that have it open go on reading.
    func remove(_ id: ContentID) async throws(ContentStoreError)

    /// Removes what writers that died have left more than a day ago.
    /// - Returns: how many there were.
    func removeLeftovers() async throws(ContentStoreError) -> Int

    /// - Returns: how full the place is; nil if it has no known bounds.
    func room() async throws(ContentStoreError) -> ContentRoom?
}

/// How full the place is where content is kept.
struct ContentRoom: Equatable {
    /// Bytes that may still be written.
    let freeBytes: Int
    /// Bytes in all, those of whatever else is there included.
    let bytes: Int
    /// Files that may still be made; nil if their number has no bound of its own.
    let freeFiles: Int?
    /// Files in all.
    let files: Int?
}

/// Content that is there, whole. It is let go of when nothing refers to the reader any more.
protocol ContentReader: Sendable {
    var type: String { get }
    /// In bytes.
    var size: Int { get }
    /// - Returns: between one byte and `count` bytes; none only at the end.
    func read(at offset: Int, atMost count: Int) async throws(ContentStoreError) -> ByteBuffer
}

/// Why bytes could not be stored or read.
enum ContentStoreError: Error, Hashable {
    /// There were more or fewer bytes than announced.
    case wrongLength
    /// The bytes stopped coming.
    case brokenOff
    /// Another upload of the same content has begun.
    case superseded
    /// There is no room; says which limit it is.
    case full(String)
    /// Anything else; says what was tried, and what came of it.
    case failed(String)
}
