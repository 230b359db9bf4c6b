// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NetKit

/// A keeper of the current topology. It determines the topology at the start, and again when there are signs of a
/// change.
final class TopologyKeeper {
    private let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private let logger: Logger
    private var machine: RefreshStateMachine
    private var pause: Scheduled<Void>?
    private var onChange: ((Topology) -> Void)?
    private var onFailure: ((RedisError) -> Void)?
    private(set) var topology: Topology?
    /// The last topology passed to `onChange`.
    private var announced: Topology?

    init(configuration: RedisConfiguration, eventLoop: any EventLoop, logger: Logger) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.logger = logger
        machine = RefreshStateMachine(
            backoff: configuration.reconnectBackoff)
    }

    /// Starts. `onChange` is called with the first topology and with each different one; `onFailure` is called if no
    /// server answers.
    func start(onChange: @escaping (Topology) -> Void, onFailure: @escaping (RedisError) -> Void) {
        self.onChange = onChange
        self.onFailure = onFailure
        if configuration.isCluster == false {
            announce(.standalone)
        } else {
            perform(machine.needed())
        }
    }

    /// Requests the topology because the map seems outdated. No effect on a standalone server, whose topology never
    /// changes.
    func refresh() {
        guard case .cluster = topology else { return }
        perform(machine.needed())
    }

    /// Records a moved slot immediately, without an announcement, and requests the whole map. A resharding moves many
    /// slots, and each announcement is expensive.
    func moved(_ slot: UInt16, to endpoint: RedisEndpoint) {
        guard case .cluster(var map) = topology else { return }
        if map.master(of: slot) != endpoint {
            topology = nil  // Releases the reference, so that the map is not copied.
            map.assign(slot, to: endpoint)
            topology = .cluster(map)
        }
        perform(machine.needed())
    }

    func close() {
        machine.close()
        pause?.cancel()
        pause = nil
        onChange = nil
        onFailure = nil
    }

    private func perform(_ action: RefreshStateMachine.Action) {
        switch action {
        case .doNothing: break
        case .ask: ask()
        case .pause(let duration):
            pause = eventLoop.after(duration) { [weak self] in
                guard let self else { return }
                perform(machine.pauseEnded())
            }
        }
    }

    private func ask() {
        var candidates = configuration.endpoints
        if case .cluster(let map) = topology {
            candidates = map.masters.shuffled() + candidates.filter { !map.masters.contains($0) }
        }
        TopologyDiscovery.run(asking: candidates, configuration: configuration, eventLoop: eventLoop) { result in
            switch result {
            case .success(let found): self.succeeded(found)
            case .failure(let error): self.failed(error)
            }
        }
    }

    private func succeeded(_ found: Topology) {
        guard machine.state != .closed else { return }
        perform(machine.succeeded())
        if case .cluster = topology, case .standalone = found { return }
        if announced != found { announce(found) } else { topology = found }
    }

    private func announce(_ topology: Topology) {
        self.topology = topology
        announced = topology
        onChange?(topology)
    }

    private func failed(_ error: RedisError) {
        guard machine.state != .closed else { return }
        logger.debug("Redis topology unavailable", metadata: ["error.message": "\(error)"])
        perform(machine.failed(jitter: .random(in: 0..<1)))
        onFailure?(error)
    }
}
