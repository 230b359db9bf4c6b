// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import FanOut
import NIOCore
import NetKit
import StrataModel
import StrataWire
import Sync

/// Requests of clients over a socket (docs/conformance.md §12.3). They are handled on the loop; service calls run in
/// tasks.
extension Socket {
    func textFrameReceived(_ frame: ByteBuffer) {
        let packet: ClientPacket
        do {
            packet = try ClientPacket(parsing: frame)
        } catch {
            // There is no request to answer. The frame is not logged, because it may contain private data.
            home.services.metrics.malformedFrames.increment()
            return close(.unreadable(error))
        }
        switch packet {
        case .typing(let conversation, let action, let requestID):
            requestReceived(replaying: false)
            typing(action, in: conversation)
            if let requestID { sendTail(home.services.renderer.response(to: requestID, method: "")) }
        case .dropped: requestReceived(replaying: false)
        case .refused(let id, let method, let failure):
            requestReceived(replaying: false)
            respond(
                to: SocketRequest(number: 0, packet: ClientPacket.Request(id: id, method: method)), .failure(failure))
        case .request(let request):
            let numbered = requests.numbered(request, frame: frame)
            requestReceived(replaying: SocketMethod(rawValue: request.method) == .replay)
            handle(numbered)
        }
    }

    private func handle(_ request: SocketRequest) {
        guard requests.admits(request) else {
            home.services.metrics.refusedSocketRequests.increment()
            return respond(to: request, .failure(.unavailable))
        }
        guard let method = SocketMethod(rawValue: request.packet.method) else {
            return respond(to: request, .failure(Failure(.invalidOperation, "The method is unknown.")))
        }
        switch method {
        case .readCounter:
            let last = outbox.lastCounter
            respond(
                to: request,
                .success { writer in
                    writer.beginObject()
                    writer.key("counter")
                    writer.int(max(0, last))
                    writer.endObject()
                })
        case .replay:
            do {
                // Other data of the request is dropped, because a replay can take long.
                let packet = ClientPacket.Request(id: request.packet.id, method: request.packet.method)
                startReplay(
                    SocketRequest(number: request.number, packet: packet), from: try ReplayBody(request.outline).from)
            } catch {
                replayRefused()
                respond(to: request, .failure(error))
            }
        case .createConversation, .createMessage:
            // Creates run one at a time, in order of arrival (docs/conformance.md §12.3).
            guard holds(request) else { return }
            requests.append(create: request)
            reportRequests()
            startCreates()
        case .subscribeToPresence, .unsubscribeFromPresence, .updatePresence, .syncPresence:
            if holds(request) { runInOrder(presence: request, method: method) }
        }
    }

    /// Reserves the memory of a request that will be queued. Refuses the request if the input budget does not allow it.
    private func holds(_ request: SocketRequest) -> Bool {
        if input.reserve(request.heldBytes) { return true }
        requests.refused(request)
        respond(to: request, .failure(.unavailable))
        return false
    }

    func reportRequests() {
        input.release(requests.takeReleasedBytes())
        let growth = requests.takeBytesGrowth()
        if growth != 0 { home.services.metrics.socketRequestBytes.increment(by: Double(growth)) }
    }

    // MARK: Answers

    /// Sends a short answer.
    func respond(to request: SocketRequest, _ answer: SocketAnswer) {
        sendRendering(Rendering(responses(to: request, answer), in: home.services.answers))
    }

    /// Returns the answer, followed by packets with the parts that do not fit into it.
    private func responses(to request: SocketRequest, _ answer: SocketAnswer) -> [PacketTail] {
        let renderer = home.services.renderer
        let (id, method) = (request.packet.id, request.packet.method)
        return switch answer {
        case .success(let data): [renderer.response(to: id, method: method, data: data)]
        case .done: [renderer.response(to: id, method: method)]
        case .message(let message):
            renderer.responses(to: id, method: method, message: message, for: key.user, version: version)
        case .conversation(let view):
            renderer.responses(to: id, method: method, view: view, for: key.user, version: version)
        case .presences(let presences): renderer.responses(to: id, method: method, presences: presences)
        case .failure(let failure):
            renderer.responses(to: id, method: method, failure: failure, for: key.user, version: version)
        }
    }

    /// Answers a request of this socket from the change that it caused, if that change precedes or replaces the
    /// service's response.
    func answer(from change: Change, showing view: ConversationView? = nil) {
        guard let origin = change.origin, origin.connection == id, let request = requests.answerable(origin.request)
        else { return }
        switch change.content {
        case .messageCreated(_, _, let message?):
            requests.answered(origin.request)
            respond(to: request, .message(message))
        case .conversationCreated:
            guard let view else { return }
            requests.answered(origin.request)
            respond(to: request, .conversation(view))
        default: break
        }
    }

    /// The data for rendering a service's response.
    enum AnswerData: Sendable {
        case nothing
        case message(Message)
        case conversation(ConversationView)
        case presences([(user: UserID, presence: Presence)])
    }

    /// Runs a request and renders its answer on the caller's executor.
    /// - Parameter isRefusable: false for a request that changes something, because its caller must learn the outcome.
    @concurrent
    func rendered(
        _ request: SocketRequest, isRefusable: Bool,
        _ body: @escaping @Sendable (Socket, SocketRequest, AnswerBudget.Lease) async throws(Failure) -> AnswerData
    ) async -> (rendering: Rendering, result: Result<AnswerData, Failure>) {
        let lease = AnswerBudget.Lease(home.services.answers, isRefusable: isRefusable)
        let result: Result<AnswerData, Failure>
        do throws(Failure) {
            result = .success(try await body(self, request, lease))
        } catch {
            result = .failure(error)
        }
        let answer: SocketAnswer =
            switch result {
            case .failure(let failure): .failure(failure)
            case .success(.nothing): .done
            case .success(.message(let message)): .message(message)
            case .success(.conversation(let view)): .conversation(view)
            case .success(.presences(let presences)): .presences(presences)
            }
        return (Rendering(responses(to: request, answer), in: home.services.answers, lease: lease), result)
    }

    // MARK: Creates

    private func startCreates() {
        guard isOpen else { return }
        while let step = requests.nextCreate() {
            switch step {
            case .run(let request): run(create: request)
            case .refuse(let request, let failure):
                reportRequests()
                respond(to: request, .failure(failure))
            }
        }
    }

    private func run(create request: SocketRequest) {
        // The answer to a message is the message, or an earlier one with its id; the answer to a conversation may have
        // all its metadata. Other sockets of the loop do not wait for long ones.
        let isShort =
            SocketMethod(rawValue: request.packet.method) == .createMessage
            && request.heldBytes <= EventLoopExecutor.requestBytes
        Task(executorPreference: isShort ? home.executor : nil) {
            let answer = await self.rendered(request, isRefusable: false) {
                (socket, request, lease) async throws(Failure) in
                try await socket.create(request, lease)
            }
            self.registry.loop.execute {
                let isAnswered = self.requests.serviceAnswered(create: request)
                self.reportRequests()
                if !isAnswered { self.sendRendering(answer.rendering) }
                // A deletion may have been deferred until this answer.
                self.registry.flushDeferred()
                self.requests.ended(
                    create: request, succeeded: isAnswered || answer.result.creates(request, by: self.key.user))
                self.endTyping(after: answer.result)
                self.startCreates()
            }
        }
    }

    var isCreatingConversation: Bool { requests.isCreatingConversation }

    private func create(_ request: SocketRequest, _ lease: AnswerBudget.Lease) async throws(Failure) -> AnswerData {
        let services = home.services
        let call = GatewayServices.Call(
            key, origin: Change.Origin(connection: id, request: request.number), answers: lease)
        // The estimate exceeds the memory of the parsed request. It is held until the service has answered.
        try reserveParsed(request)
        defer { releaseParsed(request) }
        guard SocketMethod(rawValue: request.packet.method) == .createMessage else {
            return .conversation(
                try await services.create(try CreateConversationBody(try request.data()), for: call).view)
        }
        let conversation = try request.packet.conversationID()
        let body = try SendMessageBody(
            try request.data(), version: version, partsLimit: services.settings.objects.parts)
        return .message(try await services.send(body, to: conversation, for: call).message)
    }

    /// Reserves the memory of a request that is about to be parsed, in addition to its frame.
    /// - Throws: `service_unavailable` if the input budget does not allow it.
    func reserveParsed(_ request: SocketRequest) throws(Failure) {
        guard input.reserve(request.packet.parsedBytes) else { throw .unavailable }
    }

    func releaseParsed(_ request: SocketRequest) { input.release(request.packet.parsedBytes) }

    // MARK: Typing

    /// Sends the typing signals deferred during a catch-up.
    func flushPendingTyping() {
        for (conversation, action) in requests.takeHeldTyping() where registration.isIn(conversation) {
            typing(action, in: conversation)
        }
    }

    /// Ends the client's typing after a message if a signal of this socket may reach the fan-out later than the
    /// message. For earlier signals, the fan-out ends the typing.
    private func endTyping(after result: Result<AnswerData, Failure>) {
        guard case .success(.message(let message)) = result, let typedAt = requests.typedAt,
            registry.loop.now - typedAt < TimeAmount(GatewayServices.typingDeadline)
        else { return }
        home.services.endTyping(of: key, in: message.conversationID)
    }

    /// Sends a typing signal of a participant. Signals beyond those that the presence service can process are dropped.
    private func typing(_ action: TypingAction, in conversation: ConversationID) {
        guard registration.isIn(conversation) else {
            // A running catch-up may bring the socket into this conversation. The signal is deferred until its end.
            if catchUps.schedule.isRunning { requests.hold(action, in: conversation) }
            return
        }
        guard requests.beginTyping(at: registry.loop.now) else { return }
        let (services, key) = (home.services, key)
        Task(executorPreference: home.executor) {
            try? await services.typing(action, by: key, in: conversation)
            self.registry.loop.execute { self.requests.typingEnded() }
        }
    }
}

extension Result<Socket.AnswerData, Failure> {
    /// True if the requested object now exists, created by this attempt or an earlier one.
    fileprivate func creates(_ request: SocketRequest, by user: UserID) -> Bool {
        let found: Failure.Detail
        switch self {
        case .success(.message): return true
        case .success(.conversation(let view)): found = .conversation(view)
        case .failure(let failure) where failure.code == .idInUse: found = failure.detail
        case .success, .failure: return false
        }
        return switch found {
        // An existing distinct conversation has another id, so nothing can be sent to the requested id.
        case .conversation(let view): view.conversation.id == request.conversation
        case .message(let message): message.conversationID == request.conversation && message.sender.userID == user
        default: false
        }
    }
}
