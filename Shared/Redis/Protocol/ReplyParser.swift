// SPDX-License-Identifier: Apache-2.0
import CHiredis
import NIOCore

/// A parser based on hiredis's `redisReader`, with custom allocation functions that create values without an
/// intermediate tree of C objects.
///
/// Confined to the event loop of its connection. No C pointer leaves this file.
final class ReplyParser {
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let reader: UnsafeMutablePointer<redisReader>
    private let builder: UnsafeMutablePointer<ReplyBuilder>
    private let maximumReplyBytes: Int

    /// The maximum number of bytes passed to hiredis at once. hiredis moves the rest of its buffer after each consumed
    /// kilobyte. Passing a whole read of 64 KB would thus copy every byte about thirty times.
    private static let portion = 8192

    init(maximumReplyBytes: Int) throws(RedisError) {
        functions = .allocate(capacity: 1)
        functions.initialize(to: Self.objectFunctions)
        guard let reader = redisReaderCreateWithFunctions(functions) else {
            functions.deallocate()
            throw RedisError(.connectionUnavailable, "out of memory")
        }
        self.reader = reader
        builder = .allocate(capacity: 1)
        builder.initialize(to: ReplyBuilder())
        reader.pointee.privdata = UnsafeMutableRawPointer(builder)
        self.maximumReplyBytes = maximumReplyBytes
    }

    deinit {
        redisReaderFree(reader)
        builder.deinitialize(count: 1)
        builder.deallocate()
        functions.deallocate()
    }

    /// Parses received bytes and calls `body` for each complete reply, which it must take from the builder.
    ///
    /// - Throws: ``RedisError/Code/protocolViolation`` if the bytes are not RESP2 or a reply exceeds the limits. The
    ///   parser must not be used afterwards.
    func feed(_ input: ByteBuffer, body: (inout ReplyBuilder) throws(RedisError) -> Void) throws(RedisError) {
        var input = input
        while let portion = input.readSlice(length: min(Self.portion, input.readableBytes)), portion.readableBytes > 0 {
            let status = portion.withUnsafeReadableBytes { bytes in
                redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
            }
            guard status == REDIS_OK else { throw Self.violation }
            while try parseOne() { try body(&builder.pointee) }
            guard reader.pointee.len - reader.pointee.pos + builder.pointee.bytes.readableBytes <= maximumReplyBytes
            else {
                throw RedisError(.protocolViolation, "a reply is larger than the limit")
            }
        }
    }

    private func parseOne() throws(RedisError) -> Bool {
        var reply: UnsafeMutableRawPointer?
        guard redisReaderGetReply(reader, &reply) == REDIS_OK else { throw Self.violation }
        return reply != nil
    }

    private static var violation: RedisError {
        RedisError(.protocolViolation, "the server sent a reply that is not RESP2")
    }
}

extension ReplyParser {
    /// Returns the object that hiredis expects for each element; NULL means "out of memory". The elements are in the
    /// builder, so any non-null pointer suffices.
    private static func token(_ stored: Bool, for task: UnsafePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
        stored ? task?.pointee.privdata : nil
    }

    private static func builder(_ task: UnsafePointer<redisReadTask>?) -> UnsafeMutablePointer<ReplyBuilder>? {
        task?.pointee.privdata?.assumingMemoryBound(to: ReplyBuilder.self)
    }

    private static var objectFunctions: redisReplyObjectFunctions {
        redisReplyObjectFunctions(
            createString: { task, start, length in
                guard let task, let builder = ReplyParser.builder(task) else { return nil }
                let range = builder.pointee.copy(UnsafeRawBufferPointer(start: start, count: length))
                let element: ReplyBuilder.Element =
                    switch task.pointee.type {
                    case REDIS_REPLY_ERROR: .error(range)
                    case REDIS_REPLY_STATUS: .simple(range)
                    default: .bulk(range)
                    }
                return ReplyParser.token(builder.pointee.append(element), for: task)
            },
            createArray: { task, count in
                ReplyParser.token(ReplyParser.builder(task)?.pointee.appendArray(count: Int(count)) ?? false, for: task)
            },
            createInteger: { task, value in
                ReplyParser.token(ReplyParser.builder(task)?.pointee.append(.integer(Int64(value))) ?? false, for: task)
            },
            createNil: { task in
                ReplyParser.token(ReplyParser.builder(task)?.pointee.append(.null) ?? false, for: task)
            },
            freeObject: { _ in })
    }
}

/// A builder that collects the elements of one reply from hiredis and creates its value.
///
/// A flat list suffices, because hiredis reports elements depth first. All strings of a reply share one buffer. They
/// are copied because the reader's memory moves with its next read.
struct ReplyBuilder {
    enum Element {
        case null
        case integer(Int64)
        case simple(Range<Int>)
        case bulk(Range<Int>)
        case error(Range<Int>)
        case array(count: Int)
    }

    private(set) var elements: [Element] = []
    private(set) var bytes = ByteBuffer()
    /// The remaining number of elements for the reply. It limits the memory that a faulty server can make the client
    /// use.
    private var allowance: Int

    static let maximumElements = 1 << 20

    init() {
        allowance = Self.maximumElements
        elements.reserveCapacity(8)
    }

    /// Appends an element. Returns false if the reply has too many elements.
    mutating func append(_ element: Element) -> Bool {
        guard allowance > 0 else { return false }
        allowance -= 1
        elements.append(element)
        return true
    }

    /// Appends an array. Returns false if it exceeds the remaining number of elements.
    mutating func appendArray(count: Int) -> Bool {
        guard (0...allowance).contains(count) else { return false }
        return append(.array(count: count))
    }

    /// Copies a string. The first string in an array reserves more space, because most arrays contain a few short
    /// strings.
    mutating func copy(_ string: UnsafeRawBufferPointer) -> Range<Int> {
        if bytes.capacity == 0 { bytes.reserveCapacity(elements.isEmpty ? string.count : max(512, string.count)) }
        let start = bytes.writerIndex
        bytes.writeBytes(string)
        return start..<bytes.writerIndex
    }

    /// Returns the value of the complete reply and resets the builder.
    mutating func takeValue() -> RedisValue {
        defer { reset() }
        var index = 0
        return value(at: &index)
    }

    mutating func reset() {
        elements.removeAll(keepingCapacity: elements.count <= 1024)
        bytes = ByteBuffer()
        allowance = Self.maximumElements
    }

    private func value(at index: inout Int) -> RedisValue {
        guard index < elements.count else { return .null }
        let element = elements[index]
        index += 1
        switch element {
        case .null: return .null
        case .integer(let value): return .integer(value)
        case .simple(let range): return .simple(text(range))
        case .bulk(let range): return .bulk(slice(range))
        case .error(let range): return .error(RedisServerError(text: text(range)))
        case .array(let count):
            var values: [RedisValue] = []
            values.reserveCapacity(min(count, elements.count))
            for _ in 0..<count { values.append(value(at: &index)) }
            return .array(values)
        }
    }

    func slice(_ range: Range<Int>) -> ByteBuffer {
        bytes.getSlice(at: range.lowerBound, length: range.count) ?? ByteBuffer()
    }

    func text(_ range: Range<Int>) -> String { bytes.getString(at: range.lowerBound, length: range.count) ?? "" }

    func bytesEqual(in range: Range<Int>, text: StaticString) -> Bool {
        range.count == text.utf8CodeUnitCount
            && bytes.withUnsafeReadableBytes { all in
                all[range].elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
            }
    }
}
