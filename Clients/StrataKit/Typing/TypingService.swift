// SPDX-License-Identifier: Apache-2.0
import NetKit
import StrataModel

/// Runs a ``TypingSender`` and a ``TypingReceiver``: manages their timers, sends the signals of the former and
/// publishes the indicators of the latter.
///
/// Signals and timers require ``run()``. It can be cancelled and started again.
actor TypingService {
    /// Sends one signal. Lost signals are not repeated.
    typealias Send = @Sendable (TypingAction, ConversationID) async -> Void

    private let clock: any MonotonicClock
    private let send: Send
    private let publish: @Sendable (TypingIndicator) -> Void
    private var sender: TypingSender
    private var receiver: TypingReceiver
    /// The unsent signals, at most one per conversation: a newer signal replaces an older one.
    private var waiting: [TypingSender.Signal] = []
    private let timerChanged = Wakeup()
    private let signalWaits = Wakeup()

    /// - Parameters:
    ///   - user: the signed-in user, whose own signals are not published.
    ///   - publish: called in the order of events; must not block.
    init(
        user: UserID?, periods: TypingPeriods = TypingPeriods(), clock: any MonotonicClock = ContinuousClock(),
        send: @escaping Send,
        publish: @escaping @Sendable (TypingIndicator) -> Void
    ) {
        self.clock = clock
        self.send = send
        self.publish = publish
        sender = TypingSender(periods: periods)
        receiver = TypingReceiver(user: user, periods: periods)
    }

    /// Runs until the task is cancelled. Only one task may run it.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.sendSignals() }
            group.addTask { await self.watchTime() }
        }
    }

    // MARK: Calls of the app

    /// Handles a call of the app; see ``TypingSender/called(_:in:at:)``.
    func sendTypingIndicator(_ action: TypingAction, in conversationID: ConversationID) {
        enqueueSignal(sender.called(action, in: conversationID, at: clock.now))
    }

    /// Handles a message that the user sends. Unsent signals of the conversation are dropped, because they would arrive
    /// after the message.
    func messageSent(in conversationID: ConversationID) {
        sender.messageSent(in: conversationID)
        waiting.removeAll { $0.conversationID == conversationID }
    }

    // MARK: Packets from the server

    /// Handles a signal. Its sender should be the identity from the store.
    /// - Parameter isKnown: true if the conversation is on this device.
    func indicatorReceived(_ indicator: TypingIndicator, isKnown: Bool) {
        tell(receiver.indicatorReceived(indicator, isKnown: isKnown, at: clock.now))
    }

    func messageArrived(from userID: UserID, in conversationID: ConversationID) {
        tell(receiver.messageArrived(from: userID, in: conversationID))
    }

    /// Handles a user who is no longer a participant.
    func participantLeft(_ userID: UserID, from conversationID: ConversationID) {
        tell(receiver.participantLeft(userID, from: conversationID))
    }

    /// Handles a conversation that was deleted, or that this user has left.
    func conversationGone(_ conversationID: ConversationID) {
        sender.conversationGone(conversationID)
        waiting.removeAll { $0.conversationID == conversationID }
        for indicator in receiver.conversationGone(conversationID) { tell(indicator) }
    }

    // MARK: The connection

    func connectionRestored() {
        for signal in sender.connectionRestored(at: clock.now) { enqueueSignal(signal) }
    }

    /// Handles the loss of the connection. Participants appear as typing again after their next signal.
    func connectionLost() {
        sender.connectionLost()
        waiting = []
        for indicator in receiver.connectionLost() { tell(indicator) }
    }

    /// Resets all typing after a disconnect or a sign-out.
    func stop() {
        sender.stop()
        waiting = []
        for indicator in receiver.connectionLost() { tell(indicator) }
    }

    // MARK: Running

    private func enqueueSignal(_ signal: TypingSender.Signal?) {
        timerChanged.signal()
        guard let signal else { return }
        waiting.removeAll { $0.conversationID == signal.conversationID }
        waiting.append(signal)
        signalWaits.signal()
    }

    private func tell(_ indicator: TypingIndicator?) {
        timerChanged.signal()
        if let indicator { publish(indicator) }
    }

    private func sendSignals() async {
        while !Task.isCancelled {
            guard !waiting.isEmpty else {
                await signalWaits.wait()
                continue
            }
            let signal = waiting.removeFirst()
            await send(signal.action, signal.conversationID)
        }
    }

    private func watchTime() async {
        while !Task.isCancelled {
            let now = clock.now
            for signal in sender.timerDue(at: now) { enqueueSignal(signal) }
            for indicator in receiver.timerDue(at: now) { publish(indicator) }
            await timerChanged.wait(until: [sender.deadline, receiver.deadline].compactMap { $0 }.min(), clock: clock)
        }
    }
}
