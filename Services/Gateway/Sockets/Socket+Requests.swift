// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import Model
import NIOCore
import Wire

/// What clients ask for over a socket (spec 12.3). All on the loop; what needs a service runs in a task of its own.
extension Socket {
    /// A text frame.
    func received(_ frame: ByteBuffer) {
        let packet: ClientPacket
        do {
            packet = try ClientPacket(parsing: frame)
        } catch {
            // There is no request to answer. The frame is not logged: it may hold anything.
            hub.services.metrics.malformedFrames.increment()
            return close(.unreadable(error))
        }
        switch packet {
        case .typing(let conversation, let action, let requestID):
            clientSpoke(replaying: false)
            typing(action, in: conversation)
            if let requestID { send(hub.services.renderer.response(to: requestID, method: "")) }
        case .dropped: clientSpoke(replaying: false)
        case .refused(let id, let method, let failure):
            clientSpoke(replaying: false)
            respond(to: SocketRequest(number: 0, packet: ClientPacket.Request(id: id, method: method)), .failure(failure))
        case .request(let request):
            requestNumber += 1
            clientSpoke(replaying: SocketMethod(rawValue: request.method) == .replay)
            handle(SocketRequest(number: requestNumber, packet: request, bytes: frame.readableBytes))
        }
    }

    private func handle(_ request: SocketRequest) {
        guard hasRoom(for: request) else {
            hub.services.metrics.refusedSocketRequests.increment()
            return respond(to: request, .failure(.unavailable))
        }
        guard let method = SocketMethod(rawValue: request.packet.method) else {
            return respond(to: request, .failure(Failure(.invalidOperation, "There is no such method.")))
        }
        switch method {
        case .readCounter:
            let last = sequence.counter - 1
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
                startReplay(request, from: try ReplayBody(request.data).from)
            } catch {
                // A replay that has failed is still owed: only where nothing was asked for before does the socket begin at its opening.
                if catchUpAttempt == 0, case .catchingUp = phase { beginWithoutReplay() }
                respond(to: request, .failure(error))
            }
        case .createConversation, .createMessage:
            // One after the other, in the order in which they came (spec 12.3).
            requestBytes += request.bytes
            creates.append(request)
            startNextCreate()
        case .subscribeToPresence: run(request) { (socket, request) async throws(Failure) in try await socket.subscribeToPresence(request) }
        case .unsubscribeFromPresence:
            wantsPresence = false
            hub.unwatchAll(self)
            respond(to: request, .done)
        case .updatePresence: run(request) { (socket, request) async throws(Failure) in try await socket.updatePresence(request) }
        case .syncPresence: run(request) { (socket, request) async throws(Failure) in try await socket.syncPresence(request) }
        }
    }

    /// What is being worked on is bounded by number and by bytes; a request alone is taken whatever its size, which that of a frame bounds.
    private func hasRoom(for request: SocketRequest) -> Bool {
        let settings = hub.services.settings
        guard requestsInFlight + creates.count + (isCreating ? 1 : 0) < settings.requestsPerSocket else { return false }
        return requestBytes == 0 || requestBytes + request.bytes <= settings.requestBytesPerSocket
    }

    // MARK: Answers

    /// Answers with something short.
    func respond(to request: SocketRequest, _ answer: SocketAnswer) { send(response(to: request, answer)) }

    private func response(to request: SocketRequest, _ answer: SocketAnswer) -> PacketTail {
        let renderer = hub.services.renderer
        let (id, method) = (request.packet.id, request.packet.method)
        return switch answer {
        case .success(let data): renderer.response(to: id, method: method, data: data)
        case .done: renderer.response(to: id, method: method)
        case .failure(let failure): renderer.response(to: id, method: method, failure: failure, for: key.user, version: version)
        }
    }

    /// The change that a request of this socket caused has come before the service's answer, or instead of it: the response goes first.
    func answer(from change: Change, showing view: ConversationView? = nil) {
        guard let origin = change.origin, origin.connection == id, let request = answerable[origin.request] else { return }
        let (renderer, reader, version) = (hub.services.renderer, key.user, version)
        switch change.content {
        case .messageCreated(_, _, let message?):
            answerable[origin.request] = nil
            respond(to: request, .success { renderer.write(message, for: reader, version: version, into: &$0) })
        case .conversationCreated:
            guard let view else { return }
            answerable[origin.request] = nil
            respond(to: request, .success { renderer.write(view, for: reader, version: version, into: &$0) })
        default: break
        }
    }

    /// Runs something that needs a service, and answers with what it returns.
    private func run(
        _ request: SocketRequest, _ body: @escaping @Sendable (Socket, SocketRequest) async throws(Failure) -> AnswerData
    ) {
        requestsInFlight += 1
        requestBytes += request.bytes
        Task {
            let rendering = await rendered(request, isRefusable: true, body)
            hub.loop.execute {
                self.requestsInFlight -= 1
                self.requestBytes -= request.bytes
                self.send(rendering)
            }
        }
    }

    /// What a service's answer is rendered from.
    enum AnswerData: Sendable {
        case nothing
        case message(Message)
        case conversation(ConversationView)
        case presences([(user: UserID, presence: Presence)])
    }

    /// The answer to a request, which may be long: it is rendered here, and not on the loop.
    /// - Parameter isRefusable: false: what is done is done, and who asked for it has to hear it.
    @concurrent
    private func rendered(
        _ request: SocketRequest, isRefusable: Bool, _ body: @escaping @Sendable (Socket, SocketRequest) async throws(Failure) -> AnswerData
    ) async -> Rendering {
        let lease = AnswerBudget.Lease(hub.services.answers, isRefusable: isRefusable)
        let result = await RPCAnswers.$account.withValue(lease) { () -> Result<AnswerData, Failure> in
            do throws(Failure) {
                return .success(try await body(self, request))
            } catch {
                return .failure(error)
            }
        }
        let (renderer, reader, version) = (hub.services.renderer, key.user, version)
        let answer: SocketAnswer =
            switch result {
            case .failure(let failure): .failure(failure)
            case .success(.nothing): .done
            case .success(.message(let message)): .success { renderer.write(message, for: reader, version: version, into: &$0) }
            case .success(.conversation(let view)): .success { renderer.write(view, for: reader, version: version, into: &$0) }
            case .success(.presences(let presences)): .success { renderer.write(presenceChanges: presences, into: &$0) }
            }
        return Rendering([response(to: request, answer)], hub.services.answers, lease: lease)
    }

    // MARK: Creates

    private func startNextCreate() {
        guard !isCreating, isOpen, !creates.isEmpty else { return }
        let request = creates.removeFirst()
        isCreating = true
        answerable[request.number] = request
        Task {
            let rendering = await rendered(request, isRefusable: false) { (socket, request) async throws(Failure) in
                try await socket.create(request)
            }
            hub.loop.execute {
                self.isCreating = false
                self.requestBytes -= request.bytes
                // The change may have answered it already.
                if self.answerable.removeValue(forKey: request.number) != nil { self.send(rendering) }
                self.startNextCreate()
            }
        }
    }

    private func create(_ request: SocketRequest) async throws(Failure) -> AnswerData {
        let services = hub.services
        let call = GatewayServices.Call(key, origin: Change.Origin(connection: id, request: request.number))
        guard SocketMethod(rawValue: request.packet.method) == .createMessage else {
            return .conversation(try await services.create(try CreateConversationBody(request.data), call).view)
        }
        let conversation = try request.packet.conversationID()
        let body = try SendMessageBody(request.data, version: version, partsLimit: services.settings.partsLimit)
        return .message(try await services.send(body, to: conversation, call))
    }

    // MARK: Presence and typing

    private func subscribeToPresence(_ request: SocketRequest) async throws(Failure) -> AnswerData {
        let followed = try await hub.services.followed(GatewayServices.Call(key))
        let app = key.app
        let watched = (followed + [key.user]).map { UserKey(app: app, user: $0) }
        try? await hub.loop
            .submit {
                guard self.isOpen else { return }
                self.wantsPresence = true
                self.hub.watch(watched, by: self)
            }
            .get()
        // Whoever has the answer hears of what is set from then on.
        await hub.fanOut.confirmation(ofPresenceOf: watched)
        return .nothing
    }

    private func updatePresence(_ request: SocketRequest) async throws(Failure) -> AnswerData {
        guard let status = try PresenceUpdateBody(request.data).status else { return .nothing }
        let word =
            switch status {
            case .auto: "auto"
            case .chosen(let chosen): chosen.rawValue
            }
        try await hub.services.setPresence(word, connection: id, GatewayServices.Call(key))
        try? await hub.loop
            .submit {
                self.presenceStatus = word
                if self.isOpen {
                    self.hasPresence = true
                } else {
                    self.releasePresence()
                }
            }
            .get()
        return .nothing
    }

    private func syncPresence(_ request: SocketRequest) async throws(Failure) -> AnswerData {
        let (services, call) = (hub.services, GatewayServices.Call(key))
        let presences: [PresenceOf]
        switch try PresenceSyncBody(request.data) {
        case .users(let users): presences = try await services.presences(of: Array(users.prefix(1000)), call).map { ($0.user, $0.presence) }
        case .since(let time):
            let followed = try await services.followed(call)
            presences = try await services.presences(of: followed, since: time, call).map { ($0.user, $0.presence) }
        }
        let own = key.user
        return .presences(presences.map { ($0.user, $0.user == own ? $0.presence : $0.presence.forOthers) })
    }

    private typealias PresenceOf = (user: UserID, presence: Presence)

    /// Conversations for which a typing signal is kept while the socket is catching up.
    private static let heldTypingLimit = 8

    /// What was said while the socket caught up.
    func sayHeldTyping() {
        let held = heldTyping
        heldTyping = [:]
        for (conversation, action) in held where rooms.contains(where: { $0.id == conversation }) { typing(action, in: conversation) }
    }

    /// Only participants are heard; what comes too fast for the presence service is dropped.
    private func typing(_ action: TypingAction, in conversation: ConversationID) {
        guard rooms.contains(where: { $0.id == conversation }) else {
            // It may be one that a catch-up is about to bring this socket into: then it is said, however short it was, when that has ended.
            if catchUpTask != nil, heldTyping.count < Self.heldTypingLimit || heldTyping[conversation] != nil { heldTyping[conversation] = action }
            return
        }
        guard typingInFlight < 8 else { return }
        typingInFlight += 1
        let (services, key) = (hub.services, key)
        Task {
            try? await services.typing(action, by: key, in: conversation)
            hub.loop.execute { self.typingInFlight -= 1 }
        }
    }
}
