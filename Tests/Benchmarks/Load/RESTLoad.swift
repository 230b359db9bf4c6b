// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// Requests over REST in a closed loop: each worker sends its next request when the last one was answered.
final class RESTLoad: Sendable {
    private let server: any LoadedServer
    private let loops: LoadLoops

    /// The result of a measurement.
    struct Run: Sendable {
        var requests = 0
        var seconds = 0.0
        var answers: LatencySummary?
        var usage: GeneratorUsage
        var cost: ProcessAccount?
        var refused = 0
        var firstRefusal = ""
    }

    init(_ server: any LoadedServer, on loops: LoadLoops) {
        self.server = server
        self.loops = loops
    }

    /// Performs all requests.
    /// - Parameter workers: The requests of each worker, in order.
    func run(_ workers: [[ByteBuffer]]) async throws -> Run {
        let before = server.account()
        let account = try await loops.begin()
        let start = LoadLoop.now
        let results = try await withThrowingTaskGroup(of: RESTWorkers.Result.self) { tasks in
            for (number, loop) in loops.all.enumerated() {
                let own = stride(from: number, to: workers.count, by: loops.all.count).map { workers[$0] }
                guard !own.isEmpty else { continue }
                tasks.addTask {
                    try await loop.eventLoop
                        .flatSubmit {
                            RESTWorkers(own, self.server.addresses[0], loop).start()
                        }
                        .get()
                }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        let seconds = Double(LoadLoop.now - start) / 1e9
        var run = Run(usage: try await loops.end(account))
        run.cost = server.account().flatMap { after in before.map { after - $0 } }
        run.answers = try await loops.latencies().answers.summary
        run.seconds = seconds
        run.requests = workers.reduce(0) { $0 + $1.count }
        run.refused = results.reduce(0) { $0 + $1.refused }
        run.firstRefusal = results.map(\.firstRefusal).first { !$0.isEmpty } ?? ""
        return run
    }
}

/// The workers of one event loop. It is confined to it.
private final class RESTWorkers: @unchecked Sendable {
    struct Result: Sendable {
        var refused = 0
        var firstRefusal = ""
    }

    private let workers: [[ByteBuffer]]
    private let lane: RESTLane
    private let loop: LoadLoop
    private let done: EventLoopPromise<Result>
    private var result = Result()
    private var running: Int

    init(_ workers: [[ByteBuffer]], _ server: LoadAddress, _ loop: LoadLoop) {
        self.workers = workers
        self.loop = loop
        lane = RESTLane(server, connections: workers.count, on: loop.eventLoop)
        done = loop.eventLoop.makePromise()
        running = workers.count
    }

    func start() -> EventLoopFuture<Result> {
        for worker in workers.indices { next(worker, 0) }
        return done.futureResult
    }

    private func next(_ worker: Int, _ number: Int) {
        guard number < workers[worker].count else {
            running -= 1
            if running == 0 {
                lane.close()
                done.succeed(result)
            }
            return
        }
        let due = LoadLoop.now
        lane.send(workers[worker][number]) { [self] response in
            loop.recordAnswer(since: due)
            if !response.isSuccess {
                result.refused += 1
                if result.refused == 1 { result.firstRefusal = response.refusal }
            }
            next(worker, number + 1)
        }
    }
}

extension RunResult {
    /// Returns the result of requests over REST.
    /// - Parameters:
    ///   - name: The name of the requests in the plural: "receipts".
    ///   - count: The number of units; nil: the number of requests.
    init(_ run: RESTLoad.Run, name: String, count: Int? = nil, bounds: SaturationBounds) {
        let count = count ?? run.requests
        let saturation = bounds.problem(run.usage, isFixedRate: false)
        figures = saturation == nil ? [Figure(name, Double(count) / max(0.001, run.seconds), "/s")] : []
        if let cost = run.cost {
            services = cost.costs(units: count, operations: count)
            figures += [
                Figure(FigureName.operationTime, cost.processorTime / Double(max(1, count)) * 1e3, "ms"),
                Figure("switches", Double(cost.switches.voluntary) / Double(max(1, count)), "voluntary"),
            ]
        }
        if saturation == nil { figures += Self.latencies(run.answers, "answer ") }
        figures += Self.own(run.usage)
        generator = run.usage
        if run.refused > 0 {
            problem = "\(run.refused) requests were refused, the first one so: \(run.firstRefusal.prefix(300))"
        }
        refuse(saturation, isFixedRate: false)
    }
}
