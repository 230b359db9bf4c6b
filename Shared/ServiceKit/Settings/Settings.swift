// SPDX-License-Identifier: Apache-2.0

import Configuration
public import Foundation
public import Logging
public import RPC
import Synchronization
import SystemPackage

/// Typed reading of what the operator has set: environment variables, and below them the file that `STRATA_CONFIG_FILE` names.
///
/// Read everything once, at the start, into structs of your own. Whatever is missing or cannot be used throws a ``SettingsError``, which ends
/// the process before it serves a client: a wrong setting must not wait for the night to be noticed. An empty value counts as not given.
///
/// Instead of every `KEY`, `KEY_FILE` may be given: the path of a file that holds the value, as Docker and Kubernetes hand out secrets.
public struct Settings: Sendable {
    private final class Usage: Sendable {
        let read = Mutex<Set<String>>([])
    }

    private let sources: [EnvironmentVariablesProvider]
    private let environment: [String: String]
    private let usage = Usage()

    /// Settings from these variables alone.
    public init(environment: [String: String]) {
        self.environment = environment
        self.sources = [EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all)]
    }

    private init(environment: [String: String], file: EnvironmentVariablesProvider) {
        self.environment = environment
        self.sources = [EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all), file]
    }

    /// The process's environment, and the file named in it by `STRATA_CONFIG_FILE`, if any: lines of `KEY=value`. The environment wins.
    /// - Throws: ``SettingsError`` if the file cannot be read.
    public static func load(environment: [String: String] = ProcessInfo.processInfo.environment) async throws -> Settings {
        let settings = Settings(environment: environment)
        guard let path = try settings.optionalString("STRATA_CONFIG_FILE") else { return settings }
        do {
            let file = try await EnvironmentVariablesProvider(environmentFilePath: FilePath(path), secretsSpecifier: .all)
            return Settings(environment: environment, file: file)
        } catch {
            throw SettingsError(key: "STRATA_CONFIG_FILE", problem: .invalid, expected: "the path of a readable file of KEY=value lines")
        }
    }

    /// The value as it was given, or that of the file that `KEY_FILE` names without the newline at its end, or nil.
    /// - Throws: ``SettingsError`` if there is such a file to be read and it cannot be.
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

    /// A text.
    /// - Parameters:
    ///   - fallback: taken if nothing is given; without it the setting is required.
    ///   - expected: said in the error if it is missing.
    public func string(_ key: String, default fallback: String? = nil, expected: String = "a text") throws -> String {
        try read(key, default: fallback, expected: expected) { $0 }
    }

    /// An integer within a range.
    public func int(_ key: String, default fallback: Int? = nil, in range: ClosedRange<Int> = 0...Int.max) throws -> Int {
        let bounds =
            range.upperBound == .max ? "an integer of at least \(range.lowerBound)" : "an integer from \(range.lowerBound) to \(range.upperBound)"
        return try read(key, default: fallback, expected: bounds) { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// `true`, `false`, `yes`, `no`, `on`, `off`, `1` or `0`, in either case.
    public func bool(_ key: String, default fallback: Bool? = nil) throws -> Bool {
        try read(key, default: fallback, expected: "true or false") {
            switch $0.lowercased() {
            case "true", "yes", "on", "1": true
            case "false", "no", "off", "0": false
            default: nil
            }
        }
    }

    /// A number with its unit: `250us`, `500ms`, `10s`, `2m`, `1h`, `30d`.
    public func duration(
        _ key: String, default fallback: Duration? = nil, in range: ClosedRange<Duration> = .zero ... .seconds(10 * 365 * 86_400)
    ) throws -> Duration {
        let expected = "a duration such as 500ms, 10s or 2m, from \(range.lowerBound) to \(range.upperBound)"
        return try read(key, default: fallback, expected: expected) { Duration(setting: $0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// A text that is never shown.
    /// - Parameter minimumLength: in characters.
    public func secret(_ key: String, default fallback: String? = nil, minimumLength: Int = 1) throws -> Secret<String> {
        let expected = minimumLength > 1 ? "a secret of at least \(minimumLength) characters" : "a secret"
        return Secret(try read(key, default: fallback, expected: expected) { $0.count >= minimumLength ? $0 : nil })
    }

    /// URLs with scheme and host, separated by commas.
    public func urls(_ key: String, default fallback: [URL]? = nil) throws -> [URL] {
        try read(key, default: fallback, expected: "URLs with scheme and host, separated by commas") { text in
            let urls = list(text)
                .map { part -> URL? in
                    guard let url = URL(string: part), url.scheme?.isEmpty == false, url.host?.isEmpty == false else { return nil }
                    return url
                }
            let good = urls.compactMap { $0 }
            return good.count == urls.count && !good.isEmpty ? good : nil
        }
    }

    /// Texts separated by commas; empty ones are left out.
    public func strings(_ key: String, default fallback: [String]? = nil) throws -> [String] {
        try read(key, default: fallback, expected: "texts separated by commas") { list($0) }
    }

    /// `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.
    public func logLevel(_ key: String, default fallback: Logger.Level? = nil) throws -> Logger.Level {
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        return try read(key, default: fallback, expected: "one of \(levels)") { Logger.Level(rawValue: $0.lowercased()) }
    }

    /// Where another service is: `name:port` for all addresses of one name, or several `host:port` separated by commas.
    public func rpcTarget(_ key: String, default fallback: RPCClientConfiguration.Target? = nil) throws -> RPCClientConfiguration.Target {
        try read(key, default: fallback, expected: "host:port, or several separated by commas") { text in
            let endpoints = list(text).map { RPCEndpoint($0) }
            let good = endpoints.compactMap { $0 }
            guard good.count == endpoints.count, let first = good.first else { return nil }
            return good.count == 1 ? .dns(host: first.host, port: first.port) : .fixed(good)
        }
    }

    /// Keys beginning with `STRATA_` that were given in the environment and not read: most likely mistyped.
    public var unusedKeys: [String] {
        let read = usage.read.withLock { $0 }
        return environment.keys.filter { $0.hasPrefix("STRATA_") && !read.contains($0) }.sorted()
    }

    private func list(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private func read<Value>(_ key: String, default fallback: Value?, expected: String, parse: (String) -> Value?) throws -> Value {
        guard let text = try optionalString(key) else {
            if let fallback { return fallback }
            throw SettingsError(key: key, problem: .missing, expected: expected)
        }
        guard let value = parse(text) else { throw SettingsError(key: key, problem: .invalid, expected: expected) }
        return value
    }
}

extension Duration {
    /// Reads a whole number and its unit; nil if it is anything else.
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
