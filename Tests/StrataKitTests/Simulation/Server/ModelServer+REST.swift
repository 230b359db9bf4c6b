// SPDX-License-Identifier: Apache-2.0
import Foundation
import SeededRandom
import StrataModel

@testable import ProtocolClient
@testable import StrataKit

extension ModelServer {
    func rest(_ user: UserID, _ method: String, _ path: String, _ body: JSONValue?, name: String?) -> RESTResponse {
        defer { flush() }
        let parts = URLComponents(string: "https://sim" + path)
        let pieces = (parts?.path ?? "").split(separator: "/").map(String.init)
        let query = Dictionary((parts?.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { $1 }
        if method == "GET" {
            if random.chance(faults.failedLoad) { return Self.answer(503, Self.error("service_unavailable")) }
            return list(pieces, query, for: user)
        }
        let result = attempt {
            carryOut(user, [method, path, body?.text ?? ""].joined(separator: " "), name) {
                change(user, method, pieces, query, body)
            }
        }
        switch result {
        case .success(let place): return Self.answer(method == "POST" ? 200 : 204, .object([:]), place)
        case .failure(let refusal): return Self.answer(refusal.status, Self.error(refusal.id, refusal.data))
        }
    }

    static func answer(_ status: Int, _ json: JSONValue, _ place: Place = Place(), next: String? = nil) -> RESTResponse
    {
        var headers: [RESTResponse.Header] = []
        if let position = place.position { headers.append(.init(name: "Strata-Position", value: "\(position)")) }
        if let position = place.userPosition {
            headers.append(.init(name: "Strata-User-Position", value: "\(position)"))
        }
        if let next { headers.append(.init(name: "Link", value: "<https://sim\(next)>; rel=\"next\"")) }
        return RESTResponse(status: status, headers: headers, body: Data(json.text.utf8))
    }

    /// Executes a change once. A repeated request with the same idempotency key returns the recorded result.
    private func carryOut(
        _ user: UserID, _ request: String, _ name: String?, _ work: () -> Result<Place, Refusal>
    ) -> Result<Place, Refusal> {
        let key = name.map { ModelIdempotencyRecord.Key(user: user, name: $0) }
        if let key, let known = database.idempotencyRecords[key] {
            guard known.request == request else { return .failure(Refusal(id: "invalid_header")) }
            return .success(Place(position: known.position, userPosition: known.userPosition))
        }
        let result = work()
        guard case .success(var place) = result else {
            // Deleting an object that does not exist counts as a success.
            if case .failure(let refusal) = result, refusal.id == "not_found", request.hasPrefix("DELETE"), let name {
                record.answered("mutation \(name)")
            }
            return result
        }
        if place.position == nil, place.userPosition == nil { place.position = contained(request, for: user) }
        if let key {
            database.idempotencyRecords[key] = ModelIdempotencyRecord(
                request: request, status: 200, position: place.position, userPosition: place.userPosition)
            record.executed("mutation \(key.name)")
        }
        return .success(place)
    }

    /// Returns the position of a change without effect: the last change that the user has received.
    private func contained(_ request: String, for user: UserID) -> Int64 {
        let id = request.split(whereSeparator: { "/ ?".contains($0) }).compactMap { ConversationID(parsing: $0) }.first
        guard let conversation = id.flatMap({ database.conversations[$0] }), conversation.isSeen(by: user) else {
            return 0
        }
        let last = conversation.views[user]?.left?.position ?? conversation.head
        let told = conversation.log.last {
            $0.position <= last && !packets($0, conversation, for: user, live: false).isEmpty
        }
        return told?.position ?? 0
    }

    private func change(
        _ user: UserID, _ method: String, _ pieces: [String], _ query: [String: String], _ body: JSONValue?
    ) -> Result<Place, Refusal> {
        guard pieces.count >= 2 else { return .failure(Refusal(id: "not_found")) }
        if pieces[0] == "messages", method == "DELETE", let id = MessageID(parsing: pieces[1]) {
            return deleteMessage(id, query["mode"] == "all_participants" ? .allParticipants : .myDevices, by: user)
        }
        guard pieces[0] == "conversations", let id = ConversationID(parsing: pieces[1]) else {
            return .failure(Refusal(id: "not_found"))
        }
        switch method {
        case "PATCH": return patch(body?.array ?? [], in: id, by: user)
        case "DELETE" where query["mode"] == "all_participants": return deleteConversation(id, by: user)
        case "DELETE":
            return hideConversation(
                id, upTo: query["position"].flatMap { Int64($0) }, leaves: query["leave"] == "true", by: user)
        default:
            let ids = (body?["ids"].array ?? []).compactMap { MessageID(parsing: $0.string ?? "") }
            return giveReceipts(body?["type"].string == "read" ? .read : .delivered, ids, in: id, by: user)
        }
    }

    // MARK: Lists

    private func list(_ pieces: [String], _ query: [String: String], for user: UserID) -> RESTResponse {
        switch pieces.first {
        case "identities":
            // The users with whom the user shares a conversation, in one page.
            let known = database.conversations.values.filter { $0.views[user]?.isIn == true }.flatMap(\.participants)
            return Self.answer(200, .array(Set(known).subtracting([user]).sorted().map(Self.identity)))
        case "announcements", "blocks": return Self.answer(200, [])
        case "conversations" where pieces.count == 1: return conversations(query, for: user)
        default: break
        }
        guard pieces.count >= 2, let id = ConversationID(parsing: pieces[1]),
            let conversation = database.conversations[id],
            conversation.isSeen(by: user)
        else { return Self.answer(404, Self.error("not_found")) }
        return pieces.count == 2
            ? Self.answer(200, object(conversation, for: user)) : messages(of: conversation, query, for: user)
    }

    /// Returns a page of random length.
    private func conversations(_ query: [String: String], for user: UserID) -> RESTResponse {
        let all = database.conversations.values.sorted {
            ($0.createdAt, $0.id.description) > ($1.createdAt, $1.id.description)
        }
        var rest = all[...]
        if let from = query["from_id"] {
            guard let place = all.firstIndex(where: { $0.id == ConversationID(parsing: from) }) else {
                return Self.answer(404, Self.error("not_found"))
            }
            rest = all[(place + 1)...]
        }
        let seen = rest.filter { $0.isSeen(by: user) }
        let page = seen.prefix(random.int(1...3))
        let objects = page.map { conversation -> JSONValue in
            var shown = object(conversation, for: user)
            guard let wanted = query["messages"] else { return shown }
            let messages = Array(conversation.visible(to: user).reversed())
            var count = Int(wanted) ?? 1
            if wanted == "unread", let first = messages.lastIndex(where: { conversation.isUnread($0, by: user) }) {
                count = first + 1
            }
            shown["messages"] = .array(messages.prefix(count).map { object($0, in: conversation, for: user) })
            return shown
        }
        var next: String?
        if let last = page.last, seen.count > page.count {
            next =
                "/conversations?sort_by=created_at&page_size=100&messages=\(query["messages"] ?? "1")&from_id=\(last.id)"
        }
        return Self.answer(200, .array(objects), next: next)
    }

    private func messages(
        of conversation: ModelConversation, _ query: [String: String], for user: UserID
    ) -> RESTResponse {
        var all = Array(conversation.visible(to: user).reversed())
        if let from = query["from_id"] {
            guard let place = MessageID(parsing: from).flatMap({ conversation.message($0) }) else {
                return Self.answer(404, Self.error("not_found"))
            }
            all = all.filter { $0.position < place.position }
        }
        let page = all.prefix(min(random.int(1...6), Int(query["page_size"] ?? "") ?? 100))
        let list = "/conversations/\(conversation.id)/messages?"
        if faults.emptyPages, query["after_empty"] == nil, page.first.map({ $0.position % 3 == 0 }) == true {
            return Self.answer(200, [], next: "\(list)after_empty=1\(query["from_id"].map { "&from_id=\($0)" } ?? "")")
        }
        let next = all.count > page.count ? page.last.map { "\(list)from_id=\($0.id)" } : nil
        return Self.answer(200, .array(page.map { object($0, in: conversation, for: user) }), next: next)
    }
}
