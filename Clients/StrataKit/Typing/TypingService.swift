// SPDX-License-Identifier: Apache-2.0
import NetKit
import StrataModel

/// Runs a ``TypingSender`` and a ``TypingReceiver``: keeps their time, sends the signals of the one and publishes the indicators of the other.
///
/// ``run()`` must be running for signals to be sent and for times to pass. It can be cancelled, and started again.
actor TypingService {
    /// Sends one signal. A lost signal is not sent again.
    typealias Send = @Sendable (TypingAction, ConversationID) async -> Void

    private let clock: any MonotonicClock
    private let send: Send
    private let publish: @Sendable (TypingIndicator) -> Void
    private var sender: TypingSender
    private var receiver: TypingReceiver
    /// At most one for each conversation: a newer one takes the place of one that waits.
    private var waiting: [TypingSender.Signal] = []
    private let timerChanged = Wakeup()
    private let signalWaits = Wakeup()

    /// - Parameters:
    ///   - user: whose own signals are not published.
    ///   - publish: called in the order of events; must not block.
    init(
        user: UserID?, periods: TypingPeriods = TypingPeriods(), clock: any MonotonicClock = ContinuousClock(), send: @escaping Send,
        publish: @escaping @Sendable (TypingIndicator) -> Void
    ) {
        self.clock = clock
        self.send = send
        self.publish = publish
        sender = TypingSender(periods: periods)
        receiver = TypingReceiver(user: user, periods: periods)
    }

    /// Works until the task is cancelled. Only one task may run it.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.sendSignals() }
            group.addTask { await self.watchTime() }
        }
    }

    // MARK: What the app does

    /// The app reports what the user does; see ``TypingSender/called(_:in:at:)``.
    func sendTypingIndicator(_ action: TypingAction, in conversationID: ConversationID) {
        enqueueSignal(sender.called(action, in: conversationID, at: clock.now))
    }

    /// The user sends a message. A signal of the conversation that still waits would come after it, and is dropped.
    func messageSent(in conversationID: ConversationID) {
        sender.messageSent(in: conversationID)
        waiting.removeAll { $0.conversationID == conversationID }
    }

    // MARK: What the server says

    /// A signal has come. Give it the identity that the store has of the sender.
    /// - Parameter isKnown: whether the conversation is on this device.
    func indicatorReceived(_ indicator: TypingIndicator, isKnown: Bool) {
        tell(receiver.indicatorReceived(indicator, isKnown: isKnown, at: clock.now))
    }

    func messageArrived(from userID: UserID, in conversationID: ConversationID) { tell(receiver.messageArrived(from: userID, in: conversationID)) }

    /// Another user is no longer a participant.
    func participantLeft(_ userID: UserID, from conversationID: ConversationID) { tell(receiver.participantLeft(userID, from: conversationID)) }

    /// The conversation was deleted, or this user is no longer in it.
    func conversationGone(_ conversationID: ConversationID) {
        sender.conversationGone(conversationID)
        waiting.removeAll { $0.conversationID == conversationID }
        for indicator in receiver.conversationGone(conversationID) { tell(indicator) }
    }

    // MARK: The connection

    func connectionRestored() {
        for signal in sender.connectionRestored(at: clock.now) { enqueueSignal(signal) }
    }

    /// The connection was lost. Participants who type are shown as typing again when a signal of theirs comes.
    func connectionLost() {
        sender.connectionLost()
        waiting = []
        for indicator in receiver.connectionLost() { tell(indicator) }
    }

    /// The app has disconnected, or the user has signed out.
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
