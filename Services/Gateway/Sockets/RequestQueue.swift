// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire

/// The unanswered requests of one socket. It limits their number, selects the next create, and knows which requests a
/// change can answer.
///
/// The queue is a value without tasks: the socket runs the requests and reports when they end.
struct RequestQueue {
    /// The limits on requests that are queued or in progress.
    struct Limits {
        var requests: Int
        var bytes: Int
    }

    /// The maximum number of conversations with a deferred typing signal during a catch-up.
    private static let heldTypingLimit = 8
    /// The maximum number of typing signals in transit to the presence service. Further ones are dropped.
    private static let typingLimit = 8

    private let limits: Limits
    private var lastNumber: UInt64 = 0
    /// The requests that a change can answer, by the request number in its origin.
    private var answerable: [UInt64: SocketRequest] = [:]
    private var creates = CreateQueue()
    /// The number of presence requests in progress.
    private var inOrder = 0
    /// The bytes of requests that are queued or in progress.
    private var bytes = 0
    /// The number of bytes last reported to the metrics.
    private var reportedBytes = 0
    /// The memory of requests that ended since the last ``takeReleasedBytes()``.
    private var releasedBytes = 0
    private(set) var replay: SocketRequest?
    private var typingOnItsWay = 0
    /// The time of the last typing signal.
    private(set) var typedAt: NIODeadline?
    /// Deferred typing signals, for conversations that the socket is not in yet.
    private var heldTyping: [ConversationID: TypingAction] = [:]

    init(limits: Limits) { self.limits = limits }

    var isWorkingInOrder: Bool { inOrder > 0 }
    /// True if a request to create a conversation has not been answered. Until then the conversation's identity is
    /// unknown, because a distinct one may already exist.
    var isCreatingConversation: Bool {
        answerable.values.contains { SocketMethod(rawValue: $0.packet.method) == .createConversation }
    }

    /// Returns the growth of ``bytes`` since the previous call.
    mutating func takeBytesGrowth() -> Int {
        defer { reportedBytes = bytes }
        return bytes - reportedBytes
    }

    /// Returns the memory of requests that ended since the previous call. It was reserved on their arrival.
    mutating func takeReleasedBytes() -> Int {
        defer { releasedBytes = 0 }
        return releasedBytes
    }

    private mutating func ended(_ request: SocketRequest) {
        bytes -= request.bytes
        releasedBytes += request.heldBytes
    }

    // MARK: Incoming requests

    mutating func numbered(_ packet: ClientPacket.Request, frame: ByteBuffer = ByteBuffer()) -> SocketRequest {
        lastNumber += 1
        return SocketRequest(number: lastNumber, packet: packet, frame: frame)
    }

    /// Returns true if the limits allow another request. A single request of any size is admitted, because the size of
    /// a frame is limited. Creates that depend on a refused one fail.
    mutating func admits(_ request: SocketRequest) -> Bool {
        let count = inOrder + creates.waiting + (creates.isRunning ? 1 : 0)
        if count < limits.requests, bytes == 0 || bytes + request.bytes <= limits.bytes { return true }
        refused(request)
        return false
    }

    /// Records a request that will not run. Creates that depend on it fail.
    mutating func refused(_ request: SocketRequest) { creates.refused(request) }

    // MARK: Creates

    mutating func append(create request: SocketRequest) {
        bytes += request.bytes
        creates.append(request)
    }

    /// Returns the next step for creates. nil while a create is running or if none is queued.
    mutating func nextCreate() -> CreateQueue.Step? {
        let step = creates.next()
        switch step {
        case .run(let request)?: answerable[request.number] = request
        case .refuse(let request, _)?: ended(request)
        case nil: break
        }
        return step
    }

    /// Handles the service's response to a create.
    /// - Returns: true if the change has arrived earlier and has already answered the client.
    mutating func serviceAnswered(create request: SocketRequest) -> Bool {
        ended(request)
        return answerable.removeValue(forKey: request.number) == nil
    }

    mutating func ended(create request: SocketRequest, succeeded: Bool) {
        creates.ended(request, succeeded: succeeded)
    }

    func answerable(_ number: UInt64) -> SocketRequest? { answerable[number] }

    mutating func answered(_ number: UInt64) { answerable[number] = nil }

    // MARK: Presence

    mutating func began(inOrder request: SocketRequest) {
        inOrder += 1
        bytes += request.bytes
    }

    mutating func ended(inOrder request: SocketRequest) {
        inOrder -= 1
        ended(request)
    }

    // MARK: Replays

    /// - Returns: the previous replay request, which this one replaces.
    mutating func begin(replay request: SocketRequest) -> SocketRequest? {
        defer { replay = request }
        return replay
    }

    mutating func takeReplay() -> SocketRequest? {
        defer { replay = nil }
        return replay
    }

    // MARK: Typing

    /// Returns true if another typing signal may be sent. The caller then calls ``typingEnded()`` after its arrival.
    mutating func beginTyping(at now: NIODeadline) -> Bool {
        guard typingOnItsWay < Self.typingLimit else { return false }
        typingOnItsWay += 1
        typedAt = now
        return true
    }

    mutating func typingEnded() { typingOnItsWay -= 1 }

    /// Defers a typing signal until the end of the catch-up that may bring the socket into the conversation.
    mutating func hold(_ action: TypingAction, in conversation: ConversationID) {
        if heldTyping.count < Self.heldTypingLimit || heldTyping[conversation] != nil {
            heldTyping[conversation] = action
        }
    }

    mutating func takeHeldTyping() -> [ConversationID: TypingAction] {
        defer { heldTyping = [:] }
        return heldTyping
    }

    // MARK: Closing

    /// Drops all queued requests of a closed socket. Running ones end on their own.
    mutating func removeAll() {
        bytes -= creates.bytes
        releasedBytes += creates.heldBytes
        creates.removeAll()
        answerable = [:]
    }
}

/// A request of a client that has not been answered yet.
struct SocketRequest: Sendable {
    /// The number of the request on its socket. Together with the socket's id, it is the origin of the changes that the
    /// request causes.
    let number: UInt64
    let packet: ClientPacket.Request
    /// The frame of a request that is queued or in progress. It is parsed when the request runs.
    var frame = ByteBuffer()

    var bytes: Int { frame.readableBytes }
    /// The memory held by the request while it is queued.
    var heldBytes: Int { frame.storageCapacity }

    /// The members of the data known before parsing. Missing data is an object without members, so that validation
    /// reports the missing properties by name.
    var outline: JSONValue { packet.outline.isNull ? .object([]) : packet.outline }

    /// Parses the data. Missing data is an object without members.
    func data() throws(Failure) -> JSONValue {
        let data = try ClientPacket.data(in: frame)
        return data.isNull ? .object([]) : data
    }
}

enum SocketAnswer {
    case success((inout JSONWriter) -> Void)
    case done
    case message(Message)
    case conversation(ConversationView)
    case presences([(user: UserID, presence: Presence)])
    case failure(Failure)
}

/// A request method of the socket protocol (docs/conformance.md §12.3). The raw value is its name.
package enum SocketMethod: String, CaseIterable, Sendable {
    case readCounter = "Counter.read"
    case replay = "Event.replay"
    case createConversation = "Conversation.create"
    case createMessage = "Message.create"
    case subscribeToPresence = "Presence.subscribe"
    case unsubscribeFromPresence = "Presence.unsubscribe"
    case updatePresence = "Presence.update"
    case syncPresence = "Presence.sync"
}
