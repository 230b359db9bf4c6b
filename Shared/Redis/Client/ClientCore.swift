// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import NIOCore
import NetKit

/// The client's state, confined to one event loop: servers, routing, deadlines and pending commands.
final class ClientCore {
    private enum Phase {
        case notStarted
        case running
        case draining(done: EventLoopPromise<Void>, timeout: Scheduled<Void>)
        case closed
    }

    let configuration: RedisConfiguration
    let eventLoop: any EventLoop
    private let queue: Mailbox<Command>
    private let availability: Availability
    private let logger: Logger
    private let metrics = RedisMetrics()
    private let topology: TopologyKeeper
    private var phase = Phase.notStarted
    /// The servers. A standalone server is the only node, under the first endpoint.
    private var nodes: [RedisEndpoint: ClientNode] = [:]
    private var retiring: [ClientNode] = []
    /// The commands that wait for the first topology.
    private var held: [Dispatch] = []
    private var discoveryFailure: RedisError?
    private var spare: [Command] = []
    private var deadlines = DeadlineTimer()
    private var finished: [(command: Command, result: Result<RedisValue, RedisError>)] = []

    init(
        configuration: RedisConfiguration, eventLoop: any EventLoop, queue: Mailbox<Command>,
        availability: Availability, logger: Logger
    ) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.queue = queue
        self.availability = availability
        self.logger = logger
        topology = TopologyKeeper(configuration: configuration, eventLoop: eventLoop, logger: logger)
    }

    // MARK: Lifecycle

    func start() {
        guard case .notStarted = phase else { return }
        phase = .running
        topology.start(
            onChange: { [weak self] in self?.topologyChanged($0) },
            onFailure: { [weak self] in self?.topologyUnknown($0) })
    }

    /// Completes `done` when every command has its response, or after the command time-out.
    func shutDown(_ done: EventLoopPromise<Void>) {
        switch phase {
        case .notStarted, .running:
            queue.drain()
            drain()
            let timeout = eventLoop.after(configuration.commandTimeout) { [weak self] in
                guard let self else { return }
                close()
            }
            phase = .draining(done: done, timeout: timeout)
            failHeld(.closed)
            turnEnded()
        case .draining, .closed: done.succeed()
        }
    }

    private func close() {
        guard case .draining(let done, let timeout) = phase else { return }
        phase = .closed
        timeout.cancel()
        deadlines.cancel()
        topology.close()
        let all = Array(nodes.values) + retiring
        nodes.removeAll()
        retiring.removeAll()
        for node in all { node.close(.fateUnknown) }
        settle()
        availability.close()
        done.succeed()
    }

    // MARK: Commands

    /// Processes the commands in the queue. All of them are sent with one write for each server.
    func drain() {
        var commands = queue.take(spare: spare)
        spare = []
        metrics.commands.increment(by: commands.count)
        record(queue.held)
        for command in commands {
            if command.isFinished {
                finish(command, with: .failure(.cancelled))
            } else {
                watch(command.deadline)
                route(Dispatch(command: command))
            }
        }
        commands.removeAll(keepingCapacity: true)
        spare = commands
        turnEnded()
    }

    private func route(_ dispatch: Dispatch) {
        switch topology.topology {
        case nil:
            if let discoveryFailure {
                finish(dispatch.command, with: .failure(discoveryFailure))
            } else {
                held.append(dispatch)
            }
        case .standalone: (nodes.values.first ?? node(configuration.endpoints)).send(dispatch)
        case .cluster(let map):
            guard let endpoint = master(for: dispatch.command.key, in: map) else {
                topology.refresh()
                finish(
                    dispatch.command, with: .failure(RedisError(.connectionUnavailable, "no server serves this slot")))
                return
            }
            node([endpoint]).send(dispatch)
        }
    }

    private func master(for key: String?, in map: SlotMap) -> RedisEndpoint? {
        if let key { return map.master(of: HashSlot.of(key)) }
        return map.masters.first { nodes[$0]?.isReady == true } ?? map.masters.first { nodes[$0] == nil }
            ?? map.masters.first
    }

    private func node(_ endpoints: [RedisEndpoint]) -> ClientNode {
        let key = endpoints.first ?? RedisEndpoint(host: "localhost")
        if let node = nodes[key] { return node }
        let node = ClientNode(
            endpoints: endpoints, configuration: configuration, eventLoop: eventLoop, logger: logger, core: self)
        nodes[key] = node
        return node
    }

    /// Handles a server's response, which may require sending the command to another server or in a different form.
    func answered(_ dispatch: Dispatch, with value: RedisValue, by node: ClientNode) {
        guard case .error(let error) = value else {
            finish(dispatch.command, with: .success(value))
            return
        }
        guard !dispatch.command.isFinished, let redirect = Redirect(error, asked: node.endpoint), mayFollow(redirect)
        else {
            finish(dispatch.command, with: .failure(RedisError(error)))
            return
        }
        follow(redirect, for: dispatch, after: error, from: node)
    }

    /// Returns true if the redirect may be followed. A server configured as standalone must not redirect to other
    /// servers.
    private func mayFollow(_ redirect: Redirect) -> Bool {
        switch redirect {
        case .scriptUnknown: true
        case .moved, .ask, .tryAgain: if case .cluster = topology.topology { true } else { false }
        }
    }

    private func follow(
        _ redirect: Redirect, for dispatch: Dispatch, after error: RedisServerError, from node: ClientNode
    ) {
        var next = dispatch
        next.redirects += 1
        next.isAsking = false
        guard next.redirects <= 8 else {
            finish(
                dispatch.command,
                with: .failure(RedisError(.tooManyRedirections, "redirected too often", serverError: error)))
            return
        }
        switch redirect {
        case .scriptUnknown:
            guard dispatch.command.script != nil, !dispatch.sendsSource else {
                finish(dispatch.command, with: .failure(RedisError(error)))
                return
            }
            next.sendsSource = true
            next.isAsking = dispatch.isAsking
            node.send(next)
        case .moved(let slot, let endpoint):
            topology.moved(slot, to: endpoint)
            self.node([endpoint]).send(next)
        case .ask(let endpoint):
            next.isAsking = true
            self.node([endpoint]).send(next)
        case .tryAgain:
            eventLoop.after(.milliseconds(20)) { [weak self] in
                guard let self else { return }
                if next.command.isFinished {
                    finish(next.command, with: .failure(.deadlineExceeded))
                } else {
                    route(next)
                }
                turnEnded()
            }
        }
    }

    /// Completes a command at the end of the turn. Called exactly once for each command taken from the queue.
    func finish(_ command: Command, with result: Result<RedisValue, RedisError>) {
        finished.append((command, result))
    }

    /// Sends the commands and results collected during the current turn.
    func turnEnded() {
        for node in nodes.values { node.flush() }
        for node in retiring { node.flush() }
        settle()
    }

    /// Releases completed commands from the queue's limits and then resumes their callers. A resumed caller thus finds
    /// space in the queue.
    private func settle() {
        let settled = finished
        finished.removeAll(keepingCapacity: settled.isEmpty)
        var (cost, failures, dropped) = (Mailbox<Command>.Cost(items: settled.count), 0, 0)
        for (command, result) in settled {
            cost.bytes += command.cost.bytes
            guard case .failure = result else { continue }
            failures += 1
            if command.isFireAndForget { dropped += 1 }
        }
        let remaining = queue.release(cost)
        for (command, result) in settled { command.finish(result) }
        if failures > 0 { metrics.failures.increment(by: failures) }
        if dropped > 0 { metrics.droppedPublishes.increment(by: dropped) }
        record(remaining)
        finishDrainingIfEmpty(remaining.items)
    }

    private func record(_ held: Mailbox<Command>.Cost) {
        metrics.queuedCommands.record(held.items)
        metrics.queuedBytes.record(held.bytes)
    }

    private func finishDrainingIfEmpty(_ count: Int) {
        if case .draining = phase, count == 0 { close() }
    }

    // MARK: Deadlines

    private func watch(_ deadline: ContinuousClock.Instant) {
        guard !deadlines.covers(deadline) else { return }
        deadlines.arm(at: deadline, on: eventLoop) { [weak self] in self?.expire() }
    }

    /// Fails expired commands. Their places in the pipelines stay until the responses arrive; their share of the limits
    /// is released then.
    private func expire() {
        let now = ContinuousClock.now
        deadlines.fired()
        var next: ContinuousClock.Instant?
        let visit: (Command) -> Void = { command in
            if command.deadline <= now {
                command.finish(.failure(.deadlineExceeded))
            } else if !command.isFinished {
                next = min(next ?? command.deadline, command.deadline)
            }
        }
        for dispatch in held { visit(dispatch.command) }
        for node in nodes.values { node.forEachCommand(visit) }
        for node in retiring { node.forEachCommand(visit) }
        if let next { watch(next) }
    }

    // MARK: Topology and nodes

    private func topologyChanged(_ topology: Topology) {
        switch topology {
        case .standalone: node(configuration.endpoints).connect()
        case .cluster(let map):
            let masters = Set(map.masters)
            for (endpoint, node) in nodes where !masters.contains(endpoint) {
                nodes[endpoint] = nil
                retiring.append(node)
                node.retire()
            }
        }
        discoveryFailure = nil
        let waiting = held
        held.removeAll()
        for dispatch in waiting {
            if dispatch.command.isFinished {
                finish(dispatch.command, with: .failure(.deadlineExceeded))
            } else {
                route(dispatch)
            }
        }
        turnEnded()
        updateAvailability()
    }

    private func topologyUnknown(_ error: RedisError) {
        guard topology.topology == nil else { return }
        discoveryFailure = error.whileUnavailable
        failHeld(error.whileUnavailable)
        turnEnded()
        availability.failed(error)
    }

    private func failHeld(_ error: RedisError) {
        let waiting = held
        held.removeAll()
        for dispatch in waiting { finish(dispatch.command, with: .failure(error)) }
    }

    func nodeReady() {
        turnEnded()
        updateAvailability()
    }

    func nodeFailed(_ error: RedisError, wasConnected: Bool) {
        if wasConnected { metrics.reconnects.increment() }
        topology.refresh()
        turnEnded()
        updateAvailability()
        availability.failed(error)
    }

    func retired(_ node: ClientNode) {
        retiring.removeAll { $0 === node }
    }

    private func updateAvailability() {
        switch topology.topology {
        case nil: availability.update(false)
        case .standalone: availability.update(nodes.values.contains(where: \.isReady))
        case .cluster: availability.update(!nodes.values.contains(where: \.isAway))
        }
    }
}
