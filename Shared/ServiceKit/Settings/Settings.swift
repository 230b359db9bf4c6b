// SPDX-License-Identifier: Apache-2.0
import Configuration
public import Foundation
public import Logging
public import RPC
import Synchronization
import SystemPackage

/// A typed reader of the operator's settings: environment variables, and below them the file named by
/// `STRATA_CONFIG_FILE`.
///
/// Read everything once, at the start, into structs of your own. A missing or unusable value throws a
/// ``SettingsError``, which ends the process before it serves a client. A wrong setting is thereby noticed at once. An
/// empty value counts as not given.
///
/// `KEY_FILE` can replace any `KEY`: it is the path of a file with the value, as Docker and Kubernetes provide secrets.
public struct Settings: Sendable {
    private final class Usage: Sendable {
        let read = Mutex<Set<String>>([])
    }

    private let sources: [EnvironmentVariablesProvider]
    private let environment: [String: String]
    private let usage = Usage()

    /// Creates settings from these variables alone.
    public init(environment: [String: String]) {
        self.environment = environment
        self.sources = [EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all)]
    }

    private init(environment: [String: String], file: EnvironmentVariablesProvider) {
        self.environment = environment
        self.sources = [EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all), file]
    }

    /// Loads the process's environment and the file of `KEY=value` lines named by `STRATA_CONFIG_FILE`, if any. The
    /// environment takes precedence.
    /// - Throws: ``SettingsError`` if the file is unreadable.
    public static func load(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> Settings {
        let settings = Settings(environment: environment)
        guard let path = try settings.optionalString("STRATA_CONFIG_FILE") else { return settings }
        do {
            let file = try await EnvironmentVariablesProvider(
                environmentFilePath: FilePath(path), secretsSpecifier: .all)
            return Settings(environment: environment, file: file)
        } catch {
            throw SettingsError(
                key: "STRATA_CONFIG_FILE", problem: .invalid, expected: "the path of a readable file of KEY=value lines"
            )
        }
    }

    /// Returns the given value, or the content of the file named by `KEY_FILE` without its final newline, or nil.
    /// - Throws: ``SettingsError`` if the file is unreadable.
    public func optionalString(_ key: String) throws -> String? {
        let (value, path) = (given(key), given(key + "_FILE"))
        guard value == nil, let path else { return value }
        guard var text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw SettingsError(key: key + "_FILE", problem: .invalid, expected: "the path of a readable text file")
        }
        if text.hasSuffix("\n") { text.removeLast() }
        return text.isEmpty ? nil : text
    }

    private func given(_ key: String) -> String? {
        _ = usage.read.withLock { $0.insert(key) }
        for source in sources {
            if let value = try? source.environmentValue(forName: key), !value.isEmpty { return value }
        }
        return nil
    }

    /// Reads a text.
    /// - Parameters:
    ///   - fallback: The default. nil: the setting is required.
    ///   - expected: The description of the expected value in the error.
    public func string(_ key: String, default fallback: String? = nil, expected: String = "a text") throws -> String {
        try read(key, default: fallback, expected: expected) { $0 }
    }

    /// Reads an integer within a range.
    public func int(_ key: String, default fallback: Int? = nil, in range: ClosedRange<Int> = 0...Int.max) throws -> Int
    {
        let bounds =
            range.upperBound == .max
            ? "an integer of at least \(range.lowerBound)"
            : "an integer from \(range.lowerBound) to \(range.upperBound)"
        return try read(key, default: fallback, expected: bounds) { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// Reads a Boolean: `true`, `false`, `yes`, `no`, `on`, `off`, `1` or `0`, in either case.
    public func bool(_ key: String, default fallback: Bool? = nil) throws -> Bool {
        try read(key, default: fallback, expected: "true or false") {
            switch $0.lowercased() {
            case "true", "yes", "on", "1": true
            case "false", "no", "off", "0": false
            default: nil
            }
        }
    }

    /// Reads a whole number with its unit: `250us`, `500ms`, `10s`, `2m`, `1h`, `30d`.
    public func duration(
        _ key: String, default fallback: Duration? = nil,
        in range: ClosedRange<Duration> = .zero ... .seconds(10 * 365 * 86_400)
    ) throws -> Duration {
        let expected = "a duration such as 500ms, 10s or 2m, from \(range.lowerBound) to \(range.upperBound)"
        return try read(key, default: fallback, expected: expected) {
            Duration(setting: $0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Reads a text that is never shown.
    /// - Parameter minimumLength: The minimum length in characters.
    public func secret(_ key: String, default fallback: String? = nil, minimumLength: Int = 1) throws -> Secret<String>
    {
        let expected = minimumLength > 1 ? "a secret of at least \(minimumLength) characters" : "a secret"
        return Secret(try read(key, default: fallback, expected: expected) { $0.count >= minimumLength ? $0 : nil })
    }

    /// Reads URLs with scheme and host, separated by commas.
    public func urls(_ key: String, default fallback: [URL]? = nil) throws -> [URL] {
        try read(key, default: fallback, expected: "URLs with scheme and host, separated by commas") { text in
            let urls = list(text)
                .map { part -> URL? in
                    guard let url = URL(string: part), url.scheme?.isEmpty == false, url.host?.isEmpty == false else {
                        return nil
                    }
                    return url
                }
            let good = urls.compactMap { $0 }
            return good.count == urls.count && !good.isEmpty ? good : nil
        }
    }

    /// Reads texts separated by commas. Empty texts are removed.
    public func strings(_ key: String, default fallback: [String]? = nil) throws -> [String] {
        try read(key, default: fallback, expected: "texts separated by commas") { list($0) }
    }

    /// Reads a log level: `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.
    public func logLevel(_ key: String, default fallback: Logger.Level? = nil) throws -> Logger.Level {
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        return try read(key, default: fallback, expected: "one of \(levels)") {
            Logger.Level(rawValue: $0.lowercased())
        }
    }

    /// Reads the address of another service: `name:port` for all addresses of one name, or several `host:port`
    /// separated by commas.
    public func rpcTarget(
        _ key: String, default fallback: RPCClientConfiguration.Target? = nil
    ) throws -> RPCClientConfiguration.Target {
        try read(key, default: fallback, expected: "host:port, or several separated by commas") { text in
            let endpoints = list(text).map { RPCEndpoint($0) }
            let good = endpoints.compactMap { $0 }
            guard good.count == endpoints.count, let first = good.first else { return nil }
            return good.count == 1 ? .dns(host: first.host, port: first.port) : .fixed(good)
        }
    }

    /// The keys beginning with `STRATA_` that were given in the environment and not read. They are most likely
    /// mistyped.
    public var unusedKeys: [String] {
        let read = usage.read.withLock { $0 }
        return environment.filter { $0.key.hasPrefix("STRATA_") && !$0.value.isEmpty && !read.contains($0.key) }.keys
            .sorted()
    }

    private func list(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private func read<Value>(
        _ key: String, default fallback: Value?, expected: String, parse: (String) -> Value?
    ) throws -> Value {
        guard let text = try optionalString(key) else {
            if let fallback { return fallback }
            throw SettingsError(key: key, problem: .missing, expected: expected)
        }
        guard let value = parse(text) else { throw SettingsError(key: key, problem: .invalid, expected: expected) }
        return value
    }
}

extension Duration {
    /// Parses a whole number with its unit. nil for any other text.
    init?(setting text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits) else { return nil }
        let unit: Int64
        switch text[digits.endIndex...] {
        case "us", "µs": unit = 1
        case "ms": unit = 1000
        case "s": unit = 1_000_000
        case "m": unit = 60_000_000
        case "h": unit = 3_600_000_000
        case "d": unit = 86_400_000_000
        default: return nil
        }
        let (microseconds, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        self = .microseconds(microseconds)
    }
}

/// A value that must not be shown. It reads `<redacted>` wherever it is printed, logged, dumped or interpolated.
public struct Secret<Value: Sendable>: Sendable {
    /// The value itself. Read it only where it is used.
    public let value: Value

    /// Wraps a value.
    public init(_ value: Value) {
        self.value = value
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `<redacted>`.
    public var description: String { "<redacted>" }
    /// `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable where Value: Equatable {}

/// A missing or unusable setting. Its description is one line that names the key and the expected value, and never
/// shows the given value.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of problem.
    public enum Problem: String, Sendable {
        /// The setting has no default and was not given.
        case missing
        /// The given value is unusable.
        case invalid
    }

    /// The key, as it is written in the environment.
    public let key: String
    /// The problem with the setting.
    public let problem: Problem
    /// The expected value, as a phrase: "an integer from 1 to 65535".
    public let expected: String

    /// Creates an error about one setting.
    public init(key: String, problem: Problem, expected: String) {
        self.key = key
        self.problem = problem
        self.expected = expected
    }

    /// `missing setting STRATA_X: expected …`
    public var description: String {
        "\(problem.rawValue) setting \(key): expected \(expected)"
    }
}
