// SPDX-License-Identifier: Apache-2.0

public import Logging

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
