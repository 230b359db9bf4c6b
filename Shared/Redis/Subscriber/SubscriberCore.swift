// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import NIOCore
import NetKit

/// The subscriber's state, confined to one event loop: the desired channels, the connections and the waiting callers.
final class SubscriberCore {
    private let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private let availability: Availability
    private let delegate: any RedisSubscriberDelegate
    private let logger: Logger
    private let metrics = RedisMetrics()
    private let topology: TopologyKeeper
    private var machine = SubscriptionStateMachine()
    private var links: [SubscriptionStateMachine.Link: SubscriberLink] = [:]
    private var waiters: [ConfirmationWaiters.ID: (wait: ConfirmationWait, deadline: Scheduled<Void>)] = [:]
    private var retryBackoff: Backoff
    private var retry: Scheduled<Void>?
    private var messages = 0
    private var isClosed = false

    init(
        configuration: RedisConfiguration, eventLoop: any EventLoop, availability: Availability,
        delegate: any RedisSubscriberDelegate, logger: Logger
    ) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.availability = availability
        self.delegate = delegate
        self.logger = logger
        retryBackoff = configuration.reconnectBackoff
        topology = TopologyKeeper(configuration: configuration, eventLoop: eventLoop, logger: logger)
    }

    // MARK: Lifecycle

    func start() {
        topology.start(
            onChange: { [weak self] in self?.topologyChanged($0) },
            onFailure: { [weak self] in self?.topologyUnknown($0) })
    }

    func close() {
        isClosed = true
        topology.close()
        retry?.cancel()
        for link in links.values { link.close() }
        links.removeAll()
        for id in Array(waiters.keys) { finishWaiting(id, with: .failure(.closed)) }
        availability.close()
    }

    // MARK: Desired channels

    func perform(_ requests: [SubscriberRequest]) {
        for request in requests {
            switch request {
            case .subscribe(let channels): perform(machine.subscribe(channels))
            case .unsubscribe(let channels): perform(machine.unsubscribe(channels))
            case .wait(let wait): add(wait)
            case .stopWaiting(let id): stopWaiting(id, with: .cancelled)
            }
        }
        turnEnded()
    }

    private func add(_ wait: ConfirmationWait) {
        guard !isClosed else {
            wait.finish(.failure(.closed))
            return
        }
        guard !wait.isFinished else { return }
        let id = wait.id
        let deadline = eventLoop.after(wait.deadline - .now) { [weak self] in
            self?.stopWaiting(id, with: .deadlineExceeded)
        }
        waiters[id] = (wait, deadline)
        perform(machine.wait(id, for: wait.channels))
    }

    private func stopWaiting(_ id: ConfirmationWaiters.ID, with error: RedisError) {
        machine.stopWaiting(id)
        finishWaiting(id, with: .failure(error))
    }

    private func finishWaiting(_ id: ConfirmationWaiters.ID, with result: Result<Void, RedisError>) {
        guard let (wait, deadline) = waiters.removeValue(forKey: id) else { return }
        deadline.cancel()
        wait.finish(result)
    }

    // MARK: Server messages

    func pushReceived(_ push: PushMessage, on link: SubscriptionStateMachine.Link) {
        switch push {
        case .message(let message, let channel):
            messages += 1
            delegate.subscriber(didReceive: message, on: channel)
        case .subscribed(let channel):
            retryBackoff.reset()
            perform(machine.subscribed(channel, on: link))
        case .unsubscribed(let channel): perform(machine.unsubscribed(channel, on: link))
        case .pong: perform(machine.pong(on: link))
        case .error(let error): perform(machine.refused(error, on: link))
        }
    }

    func linkOpened(_ link: SubscriptionStateMachine.Link) {
        perform(machine.linkOpened(link))
        turnEnded()
    }

    func linkLost(_ link: SubscriptionStateMachine.Link, with error: RedisError, wasConnected: Bool) {
        if wasConnected { metrics.reconnects.increment() }
        perform(machine.linkLost(link))
        topology.refresh()
        turnEnded()
        availability.failed(error)
    }

    func isAwaitingReply(on link: SubscriptionStateMachine.Link) -> Bool {
        !machine.links[Int(link)].outstanding.isEmpty
    }

    func pingSent(on link: SubscriptionStateMachine.Link) { machine.pingSent(on: link) }

    // MARK: Topology

    private func topologyChanged(_ topology: Topology) {
        switch topology {
        case .standalone: perform(machine.setRouting(.standalone))
        case .cluster(let map):
            perform(machine.setRouting(.cluster(map)))
            for (index, link) in links where machine.links[Int(index)].endpoint.map(map.masters.contains) == false {
                link.close()
                links[index] = nil
                perform(machine.linkRemoved(index))
            }
        }
        turnEnded()
    }

    private func topologyUnknown(_ error: RedisError) {
        guard topology.topology == nil else { return }
        perform(machine.unreachable())
        turnEnded()
        availability.failed(error)
    }

    // MARK: Actions

    private func perform(_ actions: [SubscriptionStateMachine.Action]) {
        for action in actions { perform(action) }
    }

    private func perform(_ action: SubscriptionStateMachine.Action) {
        switch action {
        case .didConfirm(let channel): delegate.subscriber(didConfirm: channel)
        case .didLoseConnection:
            availability.update(false)
            delegate.subscriberDidLoseConnection()
        case .didRecover:
            availability.update(machine.isWorking)
            delegate.subscriberDidRecover()
        case .open(let index): link(index).connect()
        case .drop(let index): links[index]?.drop()
        case .waiterSatisfied(let id): finishWaiting(id, with: .success(()))
        case .waiterFailed(let id):
            finishWaiting(id, with: .failure(RedisError(.notSubscribed, "one of the channels is not subscribed to")))
        case .moved(let slot, let endpoint):
            machine.slotMoved(slot, to: endpoint)
            topology.moved(slot, to: endpoint)
        case .refreshTopology: topology.refresh()
        case .retryLater(let error): scheduleRetry(error)
        }
    }

    private func link(_ index: SubscriptionStateMachine.Link) -> SubscriberLink {
        if let link = links[index] { return link }
        let endpoints = machine.links[Int(index)].endpoint.map { [$0] } ?? configuration.endpoints
        let link = SubscriberLink(
            index: index, endpoints: endpoints, configuration: configuration, eventLoop: eventLoop, logger: logger,
            core: self)
        links[index] = link
        return link
    }

    private func scheduleRetry(_ error: RedisServerError) {
        guard retry == nil else { return }
        logger.warning("subscription refused", metadata: ["error.message": "\(error)"])
        retry = eventLoop.after(retryBackoff.next()) { [weak self] in
            guard let self else { return }
            retry = nil
            machine.retry()
            turnEnded()
        }
    }

    /// Sends the commands caused by the current event, in one write for each server.
    func turnEnded() {
        guard !isClosed else { return }
        let (commands, actions) = machine.takeCommands(batch: configuration.subscriptionBatch)
        for outgoing in commands { links[outgoing.link]?.send(outgoing.command) }
        perform(actions)
        for link in links.values { link.flush() }
        if messages > 0 {
            metrics.messages.increment(by: messages)
            messages = 0
        }
        availability.update(machine.isWorking)
    }
}
