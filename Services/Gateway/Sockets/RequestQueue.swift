// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire

/// The requests of one socket that have not been answered: how many there may be, which create comes next, and which of them a change may answer.
///
/// A value without tasks: the socket carries out what is to be carried out, and says when that has ended.
struct RequestQueue {
    /// Bounds on what is worked on or waits.
    struct Limits {
        var requests: Int
        var bytes: Int
    }

    /// Conversations for which a typing signal is kept while the socket is catching up.
    private static let heldTypingLimit = 8
    /// Typing signals that are on their way to the presence service. What comes too fast for it is dropped.
    private static let typingLimit = 8

    private let limits: Limits
    private var lastNumber: UInt64 = 0
    /// Requests that a change may answer, by the number in their origin.
    private var answerable: [UInt64: SocketRequest] = [:]
    private var creates = CreateQueue()
    /// Requests about presence.
    private var inOrder = 0
    /// Bytes of the requests that are worked on or wait.
    private var bytes = 0
    /// What the metrics know of these.
    private var reportedBytes = 0
    /// Memory of requests that ended since it was last taken.
    private var releasedBytes = 0
    private(set) var replay: SocketRequest?
    private var typingOnItsWay = 0
    /// The time of the last typing signal.
    private(set) var typedAt: NIODeadline?
    /// What the client does at its keyboard in conversations that the socket is not in yet.
    private var heldTyping: [ConversationID: TypingAction] = [:]

    init(limits: Limits) { self.limits = limits }

    /// Whether a request about presence is being worked on.
    var isWorkingInOrder: Bool { inOrder > 0 }
    /// Whether a create of a conversation has not been answered. Which conversation the answer shows is not known before: a distinct one may exist.
    var isCreatingConversation: Bool {
        answerable.values.contains { SocketMethod(rawValue: $0.packet.method) == .createConversation }
    }

    /// By how many bytes there is more than when this was asked last.
    mutating func takeBytesGrowth() -> Int {
        defer { reportedBytes = bytes }
        return bytes - reportedBytes
    }

    /// Returns the memory of requests that ended since the last call. It was reserved when they came.
    mutating func takeReleasedBytes() -> Int {
        defer { releasedBytes = 0 }
        return releasedBytes
    }

    private mutating func ended(_ request: SocketRequest) {
        bytes -= request.bytes
        releasedBytes += request.heldBytes
    }

    // MARK: What comes

    mutating func numbered(_ packet: ClientPacket.Request, frame: ByteBuffer = ByteBuffer()) -> SocketRequest {
        lastNumber += 1
        return SocketRequest(number: lastNumber, packet: packet, frame: frame)
    }

    /// Whether there is room for one more. What is worked on is bounded by number and by bytes; a request alone is taken whatever its size, which that of a
    /// frame bounds. Creates that depend on one that is refused fail.
    mutating func admits(_ request: SocketRequest) -> Bool {
        let count = inOrder + creates.waiting + (creates.isRunning ? 1 : 0)
        if count < limits.requests, bytes == 0 || bytes + request.bytes <= limits.bytes { return true }
        refused(request)
        return false
    }

    /// It was not worked on: creates that depend on it fail.
    mutating func refused(_ request: SocketRequest) { creates.refused(request) }

    // MARK: Creates

    /// One is carried out after the other, in the order in which they came.
    mutating func append(create request: SocketRequest) {
        bytes += request.bytes
        creates.append(request)
    }

    /// What to do next about creates; nil: nothing, as long as one is being carried out or none waits.
    mutating func nextCreate() -> CreateQueue.Step? {
        let step = creates.next()
        switch step {
        case .run(let request)?: answerable[request.number] = request
        case .refuse(let request, _)?: ended(request)
        case nil: break
        }
        return step
    }

    /// The service has answered a create.
    /// - Returns: whether the change was faster, and the client has its answer.
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

    /// - Returns: the replay whose place this one takes.
    mutating func begin(replay request: SocketRequest) -> SocketRequest? {
        defer { replay = request }
        return replay
    }

    mutating func takeReplay() -> SocketRequest? {
        defer { replay = nil }
        return replay
    }

    // MARK: Typing

    /// Admits a signal, unless too many are on their way. Call ``typingEnded()`` when it has arrived.
    mutating func beginTyping(at now: NIODeadline) -> Bool {
        guard typingOnItsWay < Self.typingLimit else { return false }
        typingOnItsWay += 1
        typedAt = now
        return true
    }

    mutating func typingEnded() { typingOnItsWay -= 1 }

    /// Keeps a signal until the catch-up that may bring the socket into the conversation has ended.
    mutating func hold(_ action: TypingAction, in conversation: ConversationID) {
        if heldTyping.count < Self.heldTypingLimit || heldTyping[conversation] != nil {
            heldTyping[conversation] = action
        }
    }

    mutating func takeHeldTyping() -> [ConversationID: TypingAction] {
        defer { heldTyping = [:] }
        return heldTyping
    }

    // MARK: The end

    /// The socket has closed. What is being carried out ends by itself.
    mutating func removeAll() {
        bytes -= creates.bytes
        releasedBytes += creates.heldBytes
        creates.removeAll()
        answerable = [:]
    }
}
