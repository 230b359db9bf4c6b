// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The encoded parameters of a statement. The caller's task encodes them, so that the connection's thread only passes
/// pointers.
///
/// One buffer holds for each parameter:
/// - an `Int32` length (-1: NULL)
/// - the `UInt32` type (0: inferred by the server)
/// - a format byte (0: text, 1: binary)
/// - the bytes
/// - a NUL, which libpq requires after a text.
struct EncodedParameters: Sendable {
    private(set) var count = 0
    private(set) var bytes: [UInt8] = []

    /// The maximum number of parameters of a statement in PostgreSQL's protocol.
    static let maximumCount = 65_535
    private static let headerSize = 9
    /// The maximum size of the parameters, in bytes: half of libpq's maximum for a message.
    static let maximumBytes = 512 * 1024 * 1024

    init(_ values: [Value], statement: String) throws(PostgresError) {
        guard values.count <= Self.maximumCount else {
            throw Self.error("more than \(Self.maximumCount) parameters", in: statement)
        }
        bytes.reserveCapacity(values.reduce(0) { $0 + Self.headerSize + 1 + Self.sizeHint($1) })
        for value in values {
            let header = beginField()
            let format = try append(value, statement: statement)
            try endField(header, type: Self.type(of: value), format: format, statement: statement)
        }
    }

    /// Creates the parameters of a batch: arrays of the values of several executions.
    init(of executions: [EncodedParameters], as batch: Statement.Batch, statement: String) throws(PostgresError) {
        var arrays = [[UInt8]](repeating: [], count: batch.elements.count)
        var nulls = [Bool](repeating: false, count: batch.elements.count)
        for execution in executions {
            guard execution.count == arrays.count else { throw Self.error("parameters not for a batch", in: statement) }
            var fits = true
            execution.bytes.withUnsafeBytes { buffer in
                Self.forEach(in: buffer, count: execution.count) { index, field in
                    fits = fits && (field.type == 0 || field.type == batch.elements[index].oid)
                    nulls[index] = nulls[index] || field.start == nil
                    withUnsafeBytes(of: (field.start == nil ? -1 : field.length).bigEndian) {
                        arrays[index].append(contentsOf: $0)
                    }
                    let value = UnsafeRawBufferPointer(start: field.start, count: Int(field.length))
                    arrays[index].append(contentsOf: value)
                }
            }
            guard fits else { throw Self.error("parameters not for a batch", in: statement) }
        }
        for (index, array) in arrays.enumerated() {
            let header = beginField()
            appendArrayHeader(
                count: executions.count, element: batch.elements[index].oid, hasNull: nulls[index])
            bytes.append(contentsOf: array)
            try endField(header, type: batch.elements[index].arrayOID, format: 1, statement: statement)
        }
    }

    /// A parameter. A `nil` start is NULL.
    struct Field {
        let start: UnsafeRawPointer?
        let length: Int32
        let type: UInt32
        let format: Int32
    }

    /// Calls `body` with each parameter in `buffer`, which contains ``bytes``.
    static func forEach(in buffer: UnsafeRawBufferPointer, count: Int, _ body: (Int, Field) -> Void) {
        guard let base = buffer.baseAddress else { return }
        var offset = 0
        for index in 0..<count {
            let length = base.loadUnaligned(fromByteOffset: offset, as: Int32.self)
            let type = base.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let format = Int32(base.load(fromByteOffset: offset + 8, as: UInt8.self))
            body(
                index,
                Field(
                    start: length < 0 ? nil : base + offset + headerSize, length: max(0, length), type: type,
                    format: format))
            offset += headerSize + 1 + Int(max(0, length))
        }
    }

    /// Returns true if a statement prepared for `types` accepts these parameters. A type that is 0 in `types` but known
    /// here does not match, so that the statement is prepared again.
    func fit(_ types: [UInt32]) -> Bool {
        guard types.count == count else { return false }
        var fits = true
        bytes.withUnsafeBytes { buffer in
            Self.forEach(in: buffer, count: count) { index, field in
                if field.type != 0, field.type != types[index] { fits = false }
            }
        }
        return fits
    }

    /// Returns the types of these parameters. For parameters without a type, it returns those in `known`.
    func types(known: [UInt32]) -> [UInt32] {
        var types = known.count == count ? known : Array(repeating: 0, count: count)
        bytes.withUnsafeBytes { buffer in
            Self.forEach(in: buffer, count: count) { index, field in
                if field.type != 0 { types[index] = field.type }
            }
        }
        return types
    }

    /// Appends space for the header of a parameter, and returns its offset.
    private mutating func beginField() -> Int {
        for _ in 0..<Self.headerSize { bytes.append(0) }
        return bytes.count - Self.headerSize
    }

    /// Writes the header of a parameter whose bytes are the last ones.
    /// - Parameter format: nil for NULL.
    private mutating func endField(
        _ header: Int, type: UInt32, format: UInt8?, statement: String
    ) throws(PostgresError) {
        let length = bytes.count - header - Self.headerSize
        guard bytes.count <= Self.maximumBytes else { throw Self.error("parameters too large", in: statement) }
        store(format == nil ? -1 : Int32(length), at: header)
        store(type, at: header + 4)
        bytes[header + 8] = format ?? 0
        bytes.append(0)
        count += 1
    }

    /// Returns the type of a value. The type of a text is left to inference, so that it can be used for any type with a
    /// text form.
    private static func type(of value: Value) -> UInt32 {
        switch value {
        case .null, .text: 0
        case .uuid: OID.uuid
        case .int8: OID.int8
        case .int4: OID.int4
        case .bool: OID.bool
        case .bytes: OID.bytea
        case .timestamp: OID.timestamptz
        case .jsonb: OID.jsonb
        case .textArray: OID.textArray
        case .uuidArray: OID.uuidArray
        case .int8Array: OID.int8Array
        case .bytesArray: OID.byteaArray
        }
    }

    /// Appends the value's bytes and returns their format, or `nil` for NULL.
    private mutating func append(_ value: Value, statement: String) throws(PostgresError) -> UInt8? {
        switch value {
        case .null: return nil
        case .text(let text), .jsonb(let text):
            try append(text, statement: statement)
            return 0
        case .uuid(let uuid): append(uuid)
        case .int8(let number): appendInteger(number)
        case .int4(let number): appendInteger(number)
        case .bool(let flag): bytes.append(flag ? 1 : 0)
        case .bytes(let data): bytes.append(contentsOf: data)
        case .timestamp(let timestamp): appendInteger(timestamp.binary)
        case .textArray(let texts):
            appendArrayHeader(count: texts.count, element: OID.text, hasNull: texts.contains(nil))
            for text in texts { try appendElement(text, statement: statement) }
        case .uuidArray(let uuids):
            appendArrayHeader(count: uuids.count, element: OID.uuid)
            for uuid in uuids {
                appendInteger(Int32(16))
                append(uuid)
            }
        case .int8Array(let numbers):
            appendArrayHeader(count: numbers.count, element: OID.int8)
            for number in numbers {
                appendInteger(Int32(8))
                appendInteger(number)
            }
        case .bytesArray(let items):
            appendArrayHeader(count: items.count, element: OID.bytea)
            for item in items {
                appendInteger(try Self.length(item.count, in: statement))
                bytes.append(contentsOf: item)
            }
        }
        return 1
    }

    private mutating func appendArrayHeader(count: Int, element: UInt32, hasNull: Bool = false) {
        appendInteger(Int32(count == 0 ? 0 : 1))
        appendInteger(Int32(hasNull ? 1 : 0))
        appendInteger(element)
        guard count > 0 else { return }
        appendInteger(Int32(clamping: count))
        appendInteger(Int32(1))
    }

    private mutating func appendElement(_ text: String?, statement: String) throws(PostgresError) {
        guard let text else {
            appendInteger(Int32(-1))
            return
        }
        appendInteger(try Self.length(text.utf8.count, in: statement))
        try append(text, statement: statement)
    }

    /// Appends UTF-8. Throws for NUL characters, which PostgreSQL does not support and at which libpq would silently
    /// truncate the text.
    private mutating func append(_ text: String, statement: String) throws(PostgresError) {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        let hasNUL = bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, buffer.count > start else { return false }
            return memchr(base + start, 0, buffer.count - start) != nil
        }
        if hasNUL { throw Self.error("parameter \(count + 1) contains a NUL character", in: statement) }
    }

    private mutating func append(_ uuid: UUID) {
        withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
    }

    private mutating func appendInteger<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func store<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: offset, as: Number.self) }
    }

    private static func length(_ count: Int, in statement: String) throws(PostgresError) -> Int32 {
        guard count <= maximumBytes else { throw error("parameters too large", in: statement) }
        return Int32(count)
    }

    private static func sizeHint(_ value: Value) -> Int {
        switch value {
        case .null, .bool: 1
        case .int4: 4
        case .int8, .timestamp: 8
        case .uuid: 16
        case .text(let text), .jsonb(let text): text.utf8.count
        case .bytes(let data): data.count
        case .textArray(let texts): texts.reduce(20) { $0 + 4 + ($1?.utf8.count ?? 0) }
        case .uuidArray(let uuids): 20 + 20 * uuids.count
        case .int8Array(let numbers): 20 + 12 * numbers.count
        case .bytesArray(let items): items.reduce(20) { $0 + 4 + $1.count }
        }
    }

    private static func error(_ reason: String, in statement: String) -> PostgresError {
        PostgresError(code: .invalidParameter, statement: statement, reason: reason)
    }
}
