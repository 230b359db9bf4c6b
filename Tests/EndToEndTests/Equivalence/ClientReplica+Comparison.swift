// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster

extension ClientReplica {
    /// Returns the differences between the client's state and a fresh load, as text: the path, the client's value, the
    /// fresh value. Empty if there are none.
    ///
    /// These are not differences, because no stock client could know better, or because both values mean the same:
    /// - `participants` of a conversation that the user has left: the user is told of the removal, but a fresh object
    ///   lists no participants (docs/conformance.md §5.2).
    /// - A user in `recipient_status` who was added later and counts as having read (docs/conformance.md §5.5): no
    ///   packet announces this.
    /// - An empty object within metadata equals an absent one; a null member equals an absent one.
    /// - `is_unread` follows the user's own entry in `recipient_status`; there is no packet for it (docs/conformance.md
    ///   §12.4).
    /// - `position` of a conversation: changes that do not concern a user are not announced to that user.
    /// - `download_url` and `expiration` of rich content, which differ in every answer.
    func differences(from fresh: FreshState) -> [String] {
        var differences: [String] = []
        let listed = Dictionary(fresh.conversations.map { ($0["id"].string ?? "", $0) }) { $1 }
        for id in Set(conversations.keys).union(listed.keys).sorted() {
            switch (conversations[id], listed[id]) {
            case (let held?, let fresh?):
                differences += compare(short(id), shown(conversation: held), normalised(conversation: fresh))
            case (nil, _): differences.append("\(short(id)) is not held, but listed")
            default: differences.append("\(short(id)) is held, but not listed")
            }
        }
        differences += disagreements(in: fresh)
        let listedMessages = Dictionary(fresh.messages.values.joined().map { ($0["id"].string ?? "", $0) }) { $1 }
        for id in Set(messages.keys).union(listedMessages.keys).sorted() {
            switch (messages[id], listedMessages[id]) {
            case (let held?, let fresh?):
                differences += compare(short(id), shown(message: held), normalised(message: fresh))
            case (nil, let fresh):
                differences.append(
                    "\(short(id)) in \(short(fresh?["conversation"]["id"].string ?? "")) is not held, but listed")
            case (let held, nil):
                differences.append(
                    "\(short(id)) in \(short(held?["conversation"]["id"].string ?? "")) is held, but not listed")
            }
        }
        return differences
    }

    /// Returns the conversations of a fresh load whose unread count disagrees with their messages, for present and
    /// former participants.
    private func disagreements(in fresh: FreshState) -> [String] {
        fresh.conversations.compactMap { conversation in
            let id = conversation["id"].string ?? ""
            let messages = fresh.messages[id] ?? []
            let (unread, told) = (
                messages.filter { $0["is_unread"] == true }.count, conversation["unread_message_count"].int
            )
            return unread == told ? nil : "\(short(id)) has \(unread) unread messages, and says \(told ?? -1)"
        }
    }

    private func short(_ id: String) -> String { String(id.dropFirst("layer:///".count)) }

    // MARK: Objects as shown by the libraries

    private func shown(conversation: JSONValue) -> JSONValue {
        var shown = conversation
        let participants =
            isParticipant(in: conversation["id"].string ?? "") ? conversation["participants"].array ?? [] : []
        shown["participants"] = .array(
            participants.compactMap(\.string).sorted().map { identities[$0].map(Self.basic) ?? .null })
        shown["last_message"] =
            conversation["last_message"].string.flatMap { messages[$0] }.map { self.shown(message: $0) } ?? .null
        return normalisedCommon(conversation: shown)
    }

    private func shown(message: JSONValue) -> JSONValue {
        var shown = message
        if let sender = message["sender"].string { shown["sender"] = identities[sender].map(Self.basic) ?? .null }
        shown["is_unread"] = .bool(message["recipient_status"].object?[identity].map { $0 != "read" } ?? false)
        return normalised(message: shown)
    }

    private static func basic(_ identity: JSONValue) -> JSONValue {
        let names = ["id", "url", "user_id", "display_name", "avatar_url"]
        return .object(Dictionary(uniqueKeysWithValues: names.map { ($0, identity[$0]) }))
    }

    // MARK: Normalisation

    private func normalised(conversation: JSONValue) -> JSONValue {
        var normalised = conversation
        let participants = (conversation["participants"].array ?? [])
            .sorted { ($0["id"].string ?? "") < ($1["id"].string ?? "") }
        normalised["participants"] = .array(participants.map(Self.basic))
        if conversation["last_message"].object != nil {
            normalised["last_message"] = self.normalised(message: conversation["last_message"])
        }
        return normalisedCommon(conversation: normalised)
    }

    private func normalisedCommon(conversation: JSONValue) -> JSONValue {
        var normalised = conversation
        normalised["metadata"] = Self.withoutEmpty(conversation["metadata"])
        normalised["position"] = .null
        return normalised
    }

    private func normalised(message: JSONValue) -> JSONValue {
        var normalised = message
        // Users who have read the message are left out on both sides. A wrong `read` is still detected, because the
        // user is then missing on one side only.
        normalised["recipient_status"] = .object(
            (message["recipient_status"].object ?? [:]).filter { $0.value != "read" })
        let parts = (message["parts"].array ?? [])
            .map { part in
                guard part["content"].object != nil else { return part }
                var part = part
                part["content"]["download_url"] = .null
                part["content"]["expiration"] = .null
                return part
            }
        normalised["parts"] = .array(parts)
        return normalised
    }

    private static func withoutEmpty(_ tree: JSONValue) -> JSONValue {
        guard let members = tree.object else { return tree }
        return .object(members.mapValues(withoutEmpty).filter { $0.value.object?.isEmpty != true })
    }

    // MARK: Comparing

    private func compare(_ path: String, _ held: JSONValue, _ fresh: JSONValue) -> [String] {
        if held == fresh { return [] }
        if case .object(let held) = held, case .object(let fresh) = fresh {
            return Set(held.keys).union(fresh.keys).sorted()
                .flatMap { compare("\(path) \($0)", held[$0] ?? .null, fresh[$0] ?? .null) }
        }
        if case .array(let held) = held, case .array(let fresh) = fresh, held.count == fresh.count {
            return held.indices.flatMap { compare("\(path) \($0)", held[$0], fresh[$0]) }
        }
        return ["\(path) is \(held.text.prefix(300)) instead of \(fresh.text.prefix(300))"]
    }
}
