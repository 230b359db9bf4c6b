// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire

/// The creates of one socket: one is carried out after the other, in the order in which they came.
///
/// A message create that is `ordered` depends on the create before it of the same conversation: of another message in it, or of the conversation itself.
/// If that one failed, this one fails, too, and so do the ordered creates behind it, until one comes that is not ordered.
struct CreateQueue {
    /// What to do about a create.
    enum Step {
        /// Carry it out, then call ``ended(_:succeeded:)``.
        case run(SocketRequest)
        case refuse(SocketRequest, Failure)
    }

    private enum Item {
        case create(SocketRequest)
        /// One that was refused when it came. It has its place in the order.
        case refused(ConversationID, number: UInt64, requestID: String)
    }

    private var items: [Item] = []
    private var refusedCount = 0
    private var failures = FailedCreates()
    /// One is being carried out.
    private(set) var isRunning = false
    var waiting: Int { items.count - refusedCount }
    /// Bytes of waiting frames.
    var bytes: Int { sum(\.bytes) }
    /// Memory of waiting frames.
    var heldBytes: Int { sum(\.heldBytes) }

    private func sum(_ count: KeyPath<SocketRequest, Int>) -> Int {
        items.reduce(0) { if case .create(let request) = $1 { $0 + request[keyPath: count] } else { $0 } }
    }

    mutating func append(_ request: SocketRequest) { items.append(.create(request)) }

    /// A create was refused before it could wait here: those that depend on it fail.
    mutating func refused(_ request: SocketRequest) {
        guard let conversation = request.conversation else { return }
        // Refused one after the other, they are as one.
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

    /// What comes next; nil: nothing, as long as one is being carried out or none waits.
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
                    if let conversation = request.conversation { failures.ended(conversation, by: request, succeeded: false) }
                    return .refuse(request, error)
                }
                isRunning = true
                return .run(request)
            }
        }
        return nil
    }

    /// The one that was carried out has its answer.
    /// - Parameter succeeded: there is what it was to create, by whichever try. Where that is unknown it counts as failed.
    mutating func ended(_ request: SocketRequest, succeeded: Bool) {
        isRunning = false
        guard let conversation = request.conversation else { return }
        // It depended on none that failed: what depends on it, depends on it alone.
        if !succeeded { failures.startAnew(conversation) }
        failures.ended(conversation, by: request, succeeded: succeeded)
    }

    mutating func removeAll() {
        items = []
        refusedCount = 0
    }
}

/// In which conversations the last create of a socket failed. Of so many they are known by name; beyond that ordered creates are refused rather than
/// carried out in the wrong order.
struct FailedCreates {
    /// Conversations that are remembered.
    static let limit = 256

    /// With the `request_id` of the create that failed first.
    private var failed: [ConversationID: String] = [:]
    /// The last create whose failure could not be remembered.
    private var forgotten: UInt64?
    /// Where one succeeded after that.
    private var proven: Set<ConversationID> = []

    /// - Throws: ``Failure`` if the create before this one failed, or may have.
    func check(_ conversation: ConversationID, number: UInt64) throws(Failure) {
        if let first = failed[conversation] {
            throw Failure(
                .predecessorFailed, "This create depends on the one with the request_id \(first), which failed.", detail: .predecessor(first))
        }
        if let forgotten, number > forgotten, !proven.contains(conversation) {
            throw Failure(.predecessorFailed, "Creates failed in too many conversations to tell whether this one depends on one of them.")
        }
    }

    /// What failed before does not matter any more.
    mutating func startAnew(_ conversation: ConversationID) { failed[conversation] = nil }

    mutating func ended(_ conversation: ConversationID, by request: SocketRequest, succeeded: Bool) {
        ended(conversation, number: request.number, requestID: request.packet.id, succeeded: succeeded)
    }

    mutating func ended(_ conversation: ConversationID, number: UInt64, requestID: String, succeeded: Bool) {
        if succeeded {
            failed[conversation] = nil
            guard let forgotten, number > forgotten else { return }
            if proven.count >= Self.limit { proven = [] }
            proven.insert(conversation)
        } else if failed[conversation] != nil || failed.count < Self.limit {
            proven.remove(conversation)
            failed[conversation] = failed[conversation] ?? requestID
        } else {
            forget(number)
        }
    }

    /// A create failed that there is no room to remember.
    mutating func forget(_ number: UInt64) {
        forgotten = max(forgotten ?? 0, number)
        proven = []
    }
}

extension SocketRequest {
    /// The conversation in which a create is to create something, or which it is to create; nil if it cannot be read, or is up to the server.
    var conversation: ConversationID? {
        switch SocketMethod(rawValue: packet.method) {
        case .createMessage: packet.objectID.flatMap { ConversationID(parsing: $0) }
        case .createConversation: if case .string(let text)? = packet.outline["id"] { ConversationID(parsing: text) } else { nil }
        default: nil
        }
    }

    /// Whether this is a message create that depends on the create before it.
    /// - Throws: ``Failure`` naming `ordered`.
    func isOrdered() throws(Failure) -> Bool {
        guard SocketMethod(rawValue: packet.method) == .createMessage else { return false }
        switch packet.outline["ordered"] {
        case nil, .null?: return false
        case .bool(let isOrdered)?: return isOrdered
        default: throw .invalid("ordered", reason: "must be true or false")
        }
    }
}
