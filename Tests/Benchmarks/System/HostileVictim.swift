// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StrataCommand

/// An honest user whose waiting times are measured: for the first page of the list, for sending a message, and for a
/// replay. If the user's app has a webhook, its delivery of messages is measured, too.
struct HostileVictim: Sendable {
    enum Operation: String, CaseIterable {
        case list, send, replay
        /// The time from the request that sends a message to the request of the webhook.
        case delivery

        static let requests: [Operation] = [.list, .send, .replay]
    }

    /// The durations in seconds and the number of failures, by operation.
    struct Measurement: Sendable {
        var times: [Operation: [Double]] = [:]
        var failures: [Operation: Int] = [:]

        /// Returns a percentile of the durations.
        /// - Parameter part: The share, 0…1; 0.5 is the median.
        func percentile(_ part: Double, _ operation: Operation) -> Double? {
            let sorted = (times[operation] ?? []).sorted()
            return sorted.isEmpty ? nil : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
        }
        var failed: Int { failures.values.reduce(0, +) }
    }

    let user: Int
    /// The conversations to which the victim writes in rotation.
    let conversations: [String]
    let system: BenchSystem
    let client: HTTPClient
    let group: any EventLoopGroup
    var webhook: HonestWebhook?

    private static let patience = Duration.seconds(30)

    /// Creates a user in twenty conversations with friends, and one with the attackers.
    static func make(
        _ user: Int, in shared: String, _ system: BenchSystem, _ client: HTTPClient, _ group: any EventLoopGroup
    ) async throws -> HostileVictim {
        var own: [String] = []
        for friend in 0..<20 {
            let id = try await system.conversation(of: [user, user + 1 + friend % 5], as: user)
            for number in 0..<5 {
                try await system.post(
                    "/conversations/\(id)/messages", as: user,
                    "{\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"\(number)\"}]}")
            }
            own.append(id)
        }
        return HostileVictim(user: user, conversations: [own[0], shared], system: system, client: client, group: group)
    }

    /// Performs all kinds of requests concurrently, and those of one kind sequentially. Then waits until the webhook
    /// has received the sent messages.
    func measure(seconds: Int) async -> Measurement {
        let end = ContinuousClock.now + .seconds(seconds)
        var measurement = await withTaskGroup(of: (Operation, [Double], Int).self) { tasks in
            for operation in Operation.requests {
                tasks.addTask {
                    var (times, failures, number) = ([Double](), 0, 0)
                    while ContinuousClock.now < end {
                        let begun = ContinuousClock.now
                        let isDone = await perform(operation, number)
                        let took = ContinuousClock.now - begun
                        if isDone { times.append(took / .seconds(1)) } else { failures += 1 }
                        number += 1
                        try? await Task.sleep(for: operation == .replay ? .milliseconds(100) : .milliseconds(40))
                    }
                    return (operation, times, failures)
                }
            }
            return await tasks.reduce(into: Measurement()) { result, part in
                result.times[part.0] = part.1
                result.failures[part.0] = part.2
            }
        }
        if let webhook {
            (measurement.times[.delivery], measurement.failures[.delivery]) = await webhook.delays(
                within: Self.patience)
        }
        return measurement
    }

    private func perform(_ operation: Operation, _ number: Int) async -> Bool {
        switch operation {
        case .list:
            let status = try? await system.call(.GET, "/conversations?page_size=25", as: user, nil, by: client)
            return status == 200
        case .send:
            let id = UUID().uuidString.lowercased()
            let body = "{\"id\":\"\(id)\",\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"victim \(number)\"}]}"
            let path = "/conversations/\(conversations[number % conversations.count])/messages"
            let begun = ContinuousClock.now
            guard (try? await system.call(.POST, path, as: user, body, by: client)) == 201 else { return false }
            webhook?.sent(id, at: begun)
            return true
        case .replay:
            guard let socket = try? await Self.replayingSocket(system, user, group) else { return false }
            let isAnswered = (try? await socket.replayed(within: Self.patience)) ?? false
            socket.close()
            return isAnswered
        // The webhook measures deliveries.
        case .delivery: return false
        }
    }

    /// Opens a socket that requests a replay of the last ten seconds.
    static func replayingSocket(
        _ system: BenchSystem, _ user: Int, receiveBuffer: Int? = nil, _ group: any EventLoopGroup
    ) async throws -> LoadSocket {
        let since = Date.now.addingTimeInterval(-10)
            .formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true))
        return try await LoadSocket.open(
            port: system.gatewayPort, token: system.token(user),
            saying: """
                {"type":"request","body":{"request_id":"r0","method":"Event.replay","data":{"from_timestamp":"\(since)Z"}}}
                """, receiveBuffer: receiveBuffer, on: group)
    }
}

extension BenchSystem {
    /// Makes a call, and reads and discards the whole answer.
    /// - Returns: The status of the answer.
    func call(
        _ method: HTTPMethod, _ path: String, as user: Int, _ body: String?, by client: HTTPClient
    ) async throws -> Int {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(gatewayPort)\(path)")
        request.method = method
        request.headers = headers(of: user)
        if let body {
            request.headers.add(
                name: "Content-Type", value: method == .PATCH ? "application/vnd.layer-patch+json" : "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let response = try await client.execute(request, timeout: .seconds(30))
        for try await _ in response.body {}
        return Int(response.status.code)
    }

    private func headers(of user: Int) -> HTTPHeaders {
        [
            "Accept": "application/vnd.layer+json; version=3.0",
            "Authorization": "Layer session-token=\"\(token(user))\"",
        ]
    }

    /// Returns the ids of a page of messages, without their prefix.
    func messageIDs(_ path: String, as user: Int, by client: HTTPClient) async throws -> [String] {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(gatewayPort)\(path)")
        request.headers = headers(of: user)
        let response = try await client.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 64 << 20)
        let page = try JSONDecoder().decode([Identified].self, from: Data(body.readableBytesView))
        return page.map { String($0.id.suffix(36)) }
    }

    private struct Identified: Decodable { let id: String }

    /// The peak resident memory of each service's processes, in bytes. The largest process of each service counts.
    var peakMemory: [String: Int] { memory("VmHWM:") }
    var residentMemory: [String: Int] { memory("VmRSS:") }

    private func memory(_ name: String) -> [String: Int] {
        state.processes.reduce(into: [:]) { sizes, process in
            let status = (try? String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)) ?? ""
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
            let size = (line?.split(separator: " ").dropLast().last).flatMap { Int($0) }.map { $0 * 1024 } ?? 0
            sizes[process.service] = max(sizes[process.service] ?? 0, size)
        }
    }
}
