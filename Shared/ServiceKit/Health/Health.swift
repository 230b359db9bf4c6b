// SPDX-License-Identifier: Apache-2.0
import CBuildInfo
import NetKit
import Synchronization

/// The readiness of this process: a list of named checks that run on every request.
///
/// A check should use the dependency, for example with a database query, and not only test that a socket is open.
public final class Health: Sendable {
    /// A readiness check. It passes if it returns, and fails if it throws or times out.
    public typealias Check = @Sendable () async throws -> Void

    private struct Entry {
        var name: String
        var timeout: Duration
        var check: Check
    }

    private struct State {
        var entries: [Entry] = []
        /// Checks in progress. A concurrent request shares the outcome, so that a hanging check is not started again.
        var running: [String: Task<String?, Never>] = [:]
        var isStopping = false
    }

    private let state = Mutex(State())

    /// Creates an instance without checks, which is always ready.
    public init() {}

    /// Adds a check. Its name appears in the report.
    public func add(_ name: String, timeout: Duration = .seconds(2), check: @escaping Check) {
        state.withLock { $0.entries.append(Entry(name: name, timeout: timeout, check: check)) }
    }

    /// Makes the process not ready, because it is about to stop and should get no new work.
    public func stop() {
        state.withLock { $0.isStopping = true }
    }

    /// Runs all checks concurrently.
    public func report() async -> HealthReport {
        let (entries, isStopping) = state.withLock { ($0.entries, $0.isStopping) }
        let results = await withTaskGroup(of: (Int, HealthReport.Check).self) { group in
            for (index, entry) in entries.enumerated() {
                group.addTask { (index, await self.ask(entry)) }
            }
            var results: [(Int, HealthReport.Check)] = []
            for await result in group { results.append(result) }
            return results.sorted { $0.0 < $1.0 }.map(\.1)
        }
        return HealthReport(isStopping: isStopping, checks: results)
    }

    private func ask(_ entry: Entry) async -> HealthReport.Check {
        let start = ContinuousClock.now
        let failure = await outcome(of: check(entry), within: entry.timeout)
        return HealthReport.Check(name: entry.name, failure: failure, duration: .now - start)
    }

    /// Returns the check that is in progress, or starts one. Its value is the failure; nil: it passed.
    private func check(_ entry: Entry) -> Task<String?, Never> {
        state.withLock { state in
            if let running = state.running[entry.name] { return running }
            let check = Task { () -> String? in
                defer { self.state.withLock { $0.running[entry.name] = nil } }
                do {
                    try await entry.check()
                    return nil
                } catch {
                    // Only the error's type is reported, because a description might contain confidential values.
                    return "\(type(of: error))"
                }
            }
            state.running[entry.name] = check
            return check
        }
    }

    /// Returns the outcome of a check, or cancels the check after the timeout.
    ///
    /// The function does not wait for a check that ignores its cancellation. A structured child task would have to.
    private func outcome(of check: Task<String?, Never>, within timeout: Duration) async -> String? {
        let (outcomes, post) = AsyncStream<String?>.makeStream()
        let waiting = Task { post.yield(await check.value) }
        let limit = Task {
            try await Task.sleep(for: timeout)
            check.cancel()
            post.yield("no answer within \(timeout)")
        }
        defer {
            waiting.cancel()
            limit.cancel()
        }
        return await outcomes.first { _ in true } ?? "cancelled"
    }
}

/// The results of all readiness checks.
public struct HealthReport: Sendable {
    /// The result of one check.
    public struct Check: Sendable {
        /// The check's name.
        public let name: String
        /// The reason of the failure; nil if the check passed.
        public let failure: String?
        /// The duration of the check.
        public let duration: Duration
    }

    /// True if the process is shutting down.
    public let isStopping: Bool
    /// The results, in the order in which the checks were added.
    public let checks: [Check]

    /// True if the process should get work.
    public var isReady: Bool {
        !isStopping && checks.allSatisfy { $0.failure == nil }
    }

    /// The version of the process.
    static let version = String(cString: strata_version())

    /// The report as JSON: `status`, `version`, and each check's `name`, `status`, `reason` if it fails, and
    /// `milliseconds`.
    public var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("status", text: isReady ? "ready" : isStopping ? "stopping" : "unavailable")
        json.member("version", text: Self.version)
        json.key("checks")
        json.beginArray()
        for check in checks {
            json.beginObject()
            json.member("name", text: check.name)
            json.member("status", text: check.failure == nil ? "passing" : "failing")
            if let reason = check.failure { json.member("reason", text: reason) }
            json.key("milliseconds")
            json.number(Int(check.duration.wholeMilliseconds))
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}
