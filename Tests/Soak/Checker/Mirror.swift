// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster

/// A client's state of one conversation. It is built from the packets the client was sent, applied according to
/// docs/protocol.md, or from the server's view.
struct Mirror: Sendable, Equatable {
    struct Message: Sendable, Equatable {
        /// The position as on the wire.
        var position: Int
        var sender: String
        /// The recipient statuses by identity.
        var statuses: [String: String]
    }

    var unread: Int?
    var total: Int?
    var lastMessage: String?
    var participants: Set<String> = []
    /// The metadata values by path.
    var metadata: [String: String] = [:]
    /// The messages that the client received, by id.
    var messages: [String: Message] = [:]
    /// The position up to which changes of participants and metadata have been applied.
    private var applied = 0

    init() {}

    /// The factor between the position of a change and that of its message.
    static let positionStep = 8192

    mutating func show(_ object: JSONValue) {
        unread = object["unread_message_count"].int
        total = object["total_message_count"].int
        lastMessage = object["last_message"]["id"].string
        participants = Set((object["participants"].array ?? []).compactMap { $0["id"].string })
        metadata = object["metadata"].leaves
        applied = object["position"].int ?? 0
    }

    /// Adds a whole message object. Statuses only move forward.
    mutating func show(message object: JSONValue) {
        guard let id = object["id"].string, let position = object["position"].int else { return }
        var message =
            messages[id] ?? Message(position: position, sender: object["sender"]["id"].string ?? "", statuses: [:])
        for (user, status) in object["recipient_status"].object ?? [:] { message.advance(user, to: status.string) }
        messages[id] = message
    }

    /// Applies a packet about the conversation or one of its messages.
    mutating func apply(_ packet: JSONValue) {
        let (body, object) = (packet["body"], packet["body"]["object"])
        let data = body["data"]
        switch (packet["type"].string, body["operation"].string, object["type"].string) {
        case ("change", "create", "Conversation"): show(data)
        case ("change", "update", "Conversation"): update(data.array ?? [], at: body["position"].int ?? applied)
        case ("change", "create", "Message"): show(message: data)
        case ("change", "update", "Message"):
            guard let id = object["id"].string else { return }
            for operation in data.array ?? [] {
                guard let property = operation["property"].string, property.hasPrefix(Self.statusPrefix) else {
                    continue
                }
                let user = String(property.dropFirst(Self.statusPrefix.count)).replacing("\\.", with: ".")
                messages[id]?.advance(user, to: operation["value"].string)
            }
        case ("change", "delete", "Message"): messages[object["id"].string ?? ""] = nil
        case ("operation", _, _) where body["method"].string == "Conversation.mark_all_read":
            guard let end = data["position"].int, let reader = data["identity"]["id"].string else { return }
            for id in messages.keys where messages[id].map({ $0.position <= end && $0.sender != reader }) == true {
                messages[id]?.advance(reader, to: "read")
            }
        default: break
        }
    }

    private static let statusPrefix = "recipient_status."

    private mutating func update(_ operations: [JSONValue], at position: Int) {
        for operation in operations {
            let (verb, value) = (operation["operation"].string ?? "", operation["value"])
            switch operation["property"].string ?? "" {
            case "unread_message_count": unread = value.int
            case "total_message_count": total = value.int
            case "last_message": lastMessage = operation["id"].string
            case "participants" where position >= applied:
                guard let id = operation["id"].string else { continue }
                if verb == "add" { participants.insert(id) } else { participants.remove(id) }
            case let path where position >= applied && (path == "metadata" || path.hasPrefix("metadata.")):
                set(String(path.dropFirst("metadata.".count)), verb == "set" ? value.string : nil)
            default: break
            }
        }
        applied = max(applied, position)
    }

    private mutating func set(_ path: String, _ value: String?) {
        metadata = metadata.filter { known, _ in
            !path.isEmpty && known != path && !known.hasPrefix(path + ".")
                && !(value != nil && path.hasPrefix(known + "."))
        }
        metadata[path] = value
    }
}

extension Mirror.Message {
    private static let order = ["sent": 0, "delivered": 1, "read": 2]

    fileprivate mutating func advance(_ user: String, to status: String?) {
        guard let status, let rank = Self.order[status], rank > Self.order[statuses[user] ?? ""] ?? -1 else { return }
        statuses[user] = status
    }
}

extension Mirror {
    /// Describes the differences of the counts from the server's view.
    func countDifferences(from shown: Mirror) -> [String] {
        func text(_ count: Int?) -> String { count.map(String.init) ?? "not known" }
        return [("unread", unread, shown.unread), ("total", total, shown.total)]
            .compactMap { what, own, right in own == right ? nil : "\(what) is \(text(own)), shown \(text(right))" }
    }

    /// Describes the differences from the server's view.
    /// - Parameters:
    ///   - user: The user of the client.
    ///   - log: The conversation's log. Statuses are compared only if the user and the reader have participated since
    ///     the message.
    func differences(from shown: Mirror, for user: String, in log: [History.Conversation.Change]) -> [String] {
        var found = countDifferences(from: shown)
        func compare<T: Equatable>(_ what: String, _ own: T, _ right: T) {
            if own != right { found.append("\(what) is \(own), shown \(right)") }
        }
        compare("last message", lastMessage, shown.lastMessage)
        compare("participants", participants.sorted(), shown.participants.sorted())
        compare(
            "metadata", metadata.sorted { $0.key < $1.key }.map { [$0.key, $0.value] },
            shown.metadata.sorted { $0.key < $1.key }.map { [$0.key, $0.value] })
        let own = Participation(of: user, in: log)
        for (id, message) in messages.sorted(by: { $0.value.position < $1.value.position }) {
            let position = message.position / Self.positionStep
            guard let right = shown.messages[id], own.isThere(since: position) else { continue }
            for (reader, status) in right.statuses.sorted(by: { $0.key < $1.key }) {
                let name = String(reader.dropFirst("layer:///identities/".count))
                guard Participation(of: name, in: log).isThere(since: position) else { continue }
                compare("status of \(name) for the message at \(position)", message.statuses[reader], status)
            }
        }
        return found
    }
}
