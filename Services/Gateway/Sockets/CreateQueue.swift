// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire

/// The queue of a socket's create requests. They run one at a time, in order of arrival.
///
/// A message create with `ordered` depends on the previous create in the same conversation: of another message, or of
/// the conversation itself. If that failed, this one fails too. All following ordered creates also fail, until one that
/// is not ordered succeeds.
struct CreateQueue {
    enum Step {
        /// Run the request, then call ``ended(_:succeeded:)``.
        case run(SocketRequest)
        case refuse(SocketRequest, Failure)
    }

    private enum Item {
        case create(SocketRequest)
        /// A request that was refused on arrival. It keeps its place in the order.
        case refused(ConversationID, number: UInt64, requestID: String)
    }

    private var items: [Item] = []
    private var refusedCount = 0
    private var failures = FailedCreates()
    private(set) var isRunning = false
    var waiting: Int { items.count - refusedCount }
    /// The size of the queued frames in bytes.
    var bytes: Int { sum(\.bytes) }
    /// The memory of the queued frames in bytes.
    var heldBytes: Int { sum(\.heldBytes) }

    private func sum(_ count: KeyPath<SocketRequest, Int>) -> Int {
        items.reduce(0) { if case .create(let request) = $1 { $0 + request[keyPath: count] } else { $0 } }
    }

    mutating func append(_ request: SocketRequest) { items.append(.create(request)) }

    /// Records a request that was refused before it was queued. Creates that depend on it fail.
    mutating func refused(_ request: SocketRequest) {
        guard let conversation = request.conversation else { return }
        // Consecutive refusals in one conversation count once.
        let last = items.last { item in
            switch item {
            case .create(let other): other.conversation == conversation
            case .refused(let other, _, _): other == conversation
            }
        }
        if case .refused = last { return }
        if items.isEmpty, !isRunning {
            failures.ended(conversation, by: request, succeeded: false)
        } else if refusedCount < FailedCreates.limit {
            refusedCount += 1
            items.append(.refused(conversation, number: request.number, requestID: request.packet.id))
        } else {
            failures.forget(request.number)
        }
    }

    /// Returns the next step. nil while a create is running or if none is queued.
    mutating func next() -> Step? {
        while !isRunning, !items.isEmpty {
            switch items.removeFirst() {
            case .refused(let conversation, let number, let requestID):
                refusedCount -= 1
                failures.ended(conversation, number: number, requestID: requestID, succeeded: false)
            case .create(let request):
                do throws(Failure) {
                    if let conversation = request.conversation, try request.isOrdered() {
                        try failures.check(conversation, number: request.number)
                    }
                } catch {
                    if let conversation = request.conversation {
                        failures.ended(conversation, by: request, succeeded: false)
                    }
                    return .refuse(request, error)
                }
                isRunning = true
                return .run(request)
            }
        }
        return nil
    }

    /// Ends the running create.
    /// - Parameter succeeded: true if the requested object now exists, no matter which attempt created it. An unknown
    ///   outcome counts as failed.
    mutating func ended(_ request: SocketRequest, succeeded: Bool) {
        isRunning = false
        guard let conversation = request.conversation else { return }
        // This create depended on no failed one. Later creates depend on this one alone.
        if !succeeded { failures.startAnew(conversation) }
        failures.ended(conversation, by: request, succeeded: succeeded)
    }

    mutating func removeAll() {
        items = []
        refusedCount = 0
    }
}

/// The conversations in which the last create of a socket failed.
///
/// Up to ``limit`` of them are recorded individually. Beyond that, ordered creates are refused, because they might
/// otherwise run in the wrong order.
struct FailedCreates {
    /// The maximum number of recorded conversations.
    static let limit = 256

    /// The recorded conversations, with the `request_id` of the create that failed first.
    private var failed: [ConversationID: String] = [:]
    /// The number of the last create whose failure could not be recorded.
    private var lastUnrecorded: UInt64?
    /// Conversations with a successful create after ``lastUnrecorded``.
    private var succeededSince: Set<ConversationID> = []

    /// Checks that the previous create in a conversation succeeded.
    /// - Throws: ``Failure`` if that create failed or may have failed.
    func check(_ conversation: ConversationID, number: UInt64) throws(Failure) {
        if let first = failed[conversation] {
            throw Failure(
                .predecessorFailed, "This create depends on the one with the request_id \(first), which failed.",
                detail: .predecessor(first))
        }
        if let lastUnrecorded, number > lastUnrecorded, !succeededSince.contains(conversation) {
            throw Failure(
                .predecessorFailed,
                "Creates failed in too many conversations to tell whether this one depends on one of them.")
        }
    }

    /// Forgets the failure recorded for a conversation.
    mutating func startAnew(_ conversation: ConversationID) { failed[conversation] = nil }

    mutating func ended(_ conversation: ConversationID, by request: SocketRequest, succeeded: Bool) {
        ended(conversation, number: request.number, requestID: request.packet.id, succeeded: succeeded)
    }

    mutating func ended(_ conversation: ConversationID, number: UInt64, requestID: String, succeeded: Bool) {
        if succeeded {
            failed[conversation] = nil
            guard let lastUnrecorded, number > lastUnrecorded else { return }
            if succeededSince.count >= Self.limit { succeededSince = [] }
            succeededSince.insert(conversation)
        } else if failed[conversation] != nil || failed.count < Self.limit {
            succeededSince.remove(conversation)
            failed[conversation] = failed[conversation] ?? requestID
        } else {
            forget(number)
        }
    }

    /// Records that a failure could not be recorded individually.
    mutating func forget(_ number: UInt64) {
        lastUnrecorded = max(lastUnrecorded ?? 0, number)
        succeededSince = []
    }
}

extension SocketRequest {
    /// The conversation of a message create, or the id requested for a new conversation. nil if it is malformed or
    /// chosen by the server.
    var conversation: ConversationID? {
        switch SocketMethod(rawValue: packet.method) {
        case .createMessage: packet.objectID.flatMap { ConversationID(parsing: $0) }
        case .createConversation:
            if case .string(let text)? = packet.outline["id"] { ConversationID(parsing: text) } else { nil }
        default: nil
        }
    }

    /// Returns true for a message create that depends on the previous create.
    /// - Throws: ``Failure`` for the property `ordered`.
    func isOrdered() throws(Failure) -> Bool {
        guard SocketMethod(rawValue: packet.method) == .createMessage else { return false }
        switch packet.outline["ordered"] {
        case nil, .null?: return false
        case .bool(let isOrdered)?: return isOrdered
        default: throw .invalid("ordered", reason: "must be true or false")
        }
    }
}
