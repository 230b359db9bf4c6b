// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import Logging
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A log handler that writes one JSON object per line: time, level, service, instance, logger, message, and any
/// metadata.
public struct JSONLogHandler: LogHandler {
    /// The destination of log lines.
    public typealias Sink = @Sendable ([UInt8]) -> Void

    /// The metadata of every line of this logger.
    public var metadata: Logger.Metadata = [:]
    /// The least severe level that is written.
    public var logLevel: Logger.Level
    /// The provider of metadata of the current task, such as a trace id.
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let service: String
    private let instance: String
    private let sink: Sink

    /// Creates a handler.
    /// - Parameters:
    ///   - label: The logger's name.
    ///   - service: The executable's name.
    ///   - instance: The process's name among the instances of the service.
    ///   - sink: Receives whole lines, from any thread. The default writes each line to standard error with one system
    ///     call.
    public init(
        label: String, service: String, instance: String, level: Logger.Level,
        metadataProvider: Logger.MetadataProvider? = nil,
        sink: @escaping Sink = StandardError.write
    ) {
        self.label = label
        self.service = service
        self.instance = instance
        self.logLevel = level
        self.metadataProvider = metadataProvider
        self.sink = sink
    }

    /// Accesses one value of ``metadata``.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    public func log(event: LogEvent) {
        var json = JSONWriter()
        json.beginObject()
        json.member("time", text: Timestamp.now())
        json.member("level", text: event.level.rawValue)
        json.member("service", text: service)
        json.member("instance", text: instance)
        json.member("logger", text: label)
        json.member("message", text: "\(event.message)")
        var merged = merged(event.metadata)
        if let error = event.error { merged["error.message"] = "\(error)" }
        if !merged.isEmpty {
            json.key("metadata")
            json.metadata(merged)
        }
        json.endObject()
        json.newline()
        sink(json.bytes)
    }

    /// Merges the metadata. The event takes precedence over the logger, and the logger over the provider.
    private func merged(_ event: Logger.Metadata?) -> Logger.Metadata {
        var merged = metadataProvider?.get() ?? [:]
        merged.merge(metadata) { _, own in own }
        if let event { merged.merge(event) { _, own in own } }
        return merged
    }
}

extension JSONWriter {
    fileprivate mutating func metadata(_ metadata: Logger.Metadata) {
        beginObject()
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            self.key(key)
            self.value(value)
        }
        endObject()
    }

    private mutating func value(_ value: Logger.Metadata.Value) {
        switch value {
        case .string(let text): string(text)
        case .stringConvertible(let convertible): string(convertible.description)
        case .dictionary(let dictionary): metadata(dictionary)
        case .array(let array):
            beginArray()
            for element in array { self.value(element) }
            endArray()
        }
    }
}

/// Log timestamps in UTC with milliseconds. Foundation's formatters cost more than the rest of a log line.
enum Timestamp {
    /// Returns the current time as `2026-01-31T23:59:59.123Z`.
    static func now() -> String {
        let milliseconds = Int((Date().timeIntervalSince1970 * 1000).rounded(.down))
        let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
        return text(seconds: seconds, milliseconds: milliseconds - seconds * 1000)
    }

    static func text(seconds: Int, milliseconds: Int) -> String {
        let day = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
        let second = seconds - day * 86_400
        let (year, month, dayOfMonth) = date(day)
        var digits: [UInt8] = []
        digits.reserveCapacity(24)
        append(year, width: 4, endingWith: "-", to: &digits)
        append(month, width: 2, endingWith: "-", to: &digits)
        append(dayOfMonth, width: 2, endingWith: "T", to: &digits)
        append(second / 3600, width: 2, endingWith: ":", to: &digits)
        append(second / 60 % 60, width: 2, endingWith: ":", to: &digits)
        append(second % 60, width: 2, endingWith: ".", to: &digits)
        append(milliseconds, width: 3, endingWith: "Z", to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    /// Returns the Gregorian date of a day counted from 1970-01-01.
    ///
    /// In this calculation years begin in March, so that the leap day is the last day of a year. The calendar repeats
    /// every 400 years, which are 146,097 days.
    private static func date(_ day: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func append(_ number: Int, width: Int, endingWith end: Unicode.Scalar, to digits: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            digits.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
        digits.append(UInt8(ascii: end))
    }
}

/// The process's standard error, for whole lines.
public enum StandardError {
    /// The lock that keeps concurrent lines apart. A pipe writes only short lines atomically.
    private static let lock = Mutex(())

    /// Writes a whole line. A line that cannot be written is lost, because logging must not stop a service.
    @Sendable
    public static func write(_ line: [UInt8]) {
        lock.withLock { _ in
            var start = 0
            while start < line.count {
                let count = line.withUnsafeBytes { systemWrite($0[start...]) }
                if count > 0 {
                    start += count
                } else if errno != EINTR {
                    return
                }
            }
        }
    }

    private static func systemWrite(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes)
        #if canImport(Glibc)
        return Glibc.write(STDERR_FILENO, rest.baseAddress, rest.count)
        #elseif canImport(Musl)
        return Musl.write(STDERR_FILENO, rest.baseAddress, rest.count)
        #else
        return Darwin.write(STDERR_FILENO, rest.baseAddress, rest.count)
        #endif
    }
}
