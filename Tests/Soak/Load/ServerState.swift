// SPDX-License-Identifier: Apache-2.0

import LocalServers
import ProtocolClient
import TestCluster

/// The final state of a system: the change log from the database, and the users' views.
enum ServerState {
    static func read(
        _ ids: [String], of users: [TestUser], on system: any TestSystem
    ) async throws -> [History.Conversation] {
        let uuids = ids.map { String($0.dropFirst("layer:///conversations/".count)) }
        let logs = try await logs(of: uuids, system)
        var conversations: [History.Conversation] = []
        for id in ids {
            var conversation = History.Conversation(
                id: id, log: logs[String(id.dropFirst("layer:///conversations/".count))] ?? [], participants: [],
                metadata: [:], messages: [],
                unread: [:])
            for (user, (answer, objects)) in zip(users, try await shown(id, to: users)) {
                let participants = (answer.json["participants"].array ?? []).compactMap { $0["user_id"].string }
                guard answer.isSuccess else { continue }
                let reported = answer.json["unread_message_count"].int ?? -1
                conversation.counts[user.user] = .init(
                    reported: reported, shown: objects.count { $0["is_unread"] == true })
                var shown = Mirror()
                shown.show(answer.json)
                for object in objects { shown.show(message: object) }
                guard participants.contains(user.user) else {
                    conversation.kept[user.user] = shown
                    continue
                }
                conversation.unread[user.user] = reported
                conversation.shown[user.user] = shown
                if conversation.participants.isEmpty {
                    conversation.participants = Set(participants)
                    conversation.metadata = shown.metadata
                    conversation.messages = objects.map(message)
                }
            }
            conversations.append(conversation)
        }
        return conversations
    }

    /// Returns each user's view of a conversation and its messages, in the order of the users. All requests run
    /// concurrently.
    private static func shown(_ id: String, to users: [TestUser]) async throws -> [(RESTResponse, [JSONValue])] {
        try await withThrowingTaskGroup(of: (Int, RESTResponse, [JSONValue]).self) { group in
            for (index, user) in users.enumerated() {
                group.addTask {
                    let answer = try await load(layerPath(id), as: user)
                    return (index, answer, answer.isSuccess ? try await messages(of: id, as: user) : [])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map { ($0.1, $0.2) }
        }
    }

    /// Returns true if nothing was written to these conversations after they were read.
    static func areUnchanged(_ conversations: [History.Conversation], on system: any TestSystem) async throws -> Bool {
        let uuids = Dictionary(
            uniqueKeysWithValues: conversations.map { (String($0.id.dropFirst("layer:///conversations/".count)), $0) })
        let logs = try await logs(of: Array(uuids.keys), system)
        return uuids.allSatisfy { uuid, conversation in logs[uuid]?.last?.position == conversation.log.last?.position }
    }

    /// Loads a resource, with the retries of stock clients for a service that is unavailable after a fault.
    private static func load(_ path: String, as user: TestUser) async throws -> RESTResponse {
        let deadline = Waiting.deadline
        while true {
            let answer = try await user.call("GET", path)
            if answer.status < 500 || ContinuousClock.now > deadline { return answer }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private static func message(_ object: JSONValue) -> History.Conversation.Message {
        let status = (object["recipient_status"].object ?? [:])
            .map { (String($0.key.dropFirst("layer:///identities/".count)), $0.value.string) }
        return History.Conversation.Message(
            id: object["id"].string ?? "", sender: object["sender"]["user_id"].string ?? "",
            recipients: status.map(\.0),
            readers: Set(status.filter { $0.1 == "read" }.map(\.0)))
    }

    private static func messages(of id: String, as user: TestUser) async throws -> [JSONValue] {
        var messages: [JSONValue] = []
        while true {
            let from = messages.last?["id"].string.map { "&from_id=\($0)" } ?? ""
            let page = try await load(layerPath(id) + "/messages?page_size=100" + from, as: user).json.array ?? []
            if page.isEmpty { return messages }
            messages += page
        }
    }

    // MARK: The log

    /// Returns the change logs by the UUIDs of the conversations.
    private static func logs(
        of ids: [String], _ system: any TestSystem
    ) async throws -> [String: [History.Conversation.Change]] {
        let sql =
            "SELECT conversation_id, position, kind, coalesce(message_id::text, ''), coalesce(operations::text, '{}') "
            + "FROM conversations.change WHERE conversation_id = ANY ('{\(ids.joined(separator: ","))}') ORDER BY 1, 2"
        var logs: [String: [History.Conversation.Change]] = [:]
        for line in try await query(sql, system) {
            let columns = line.split(separator: "\t", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
            guard columns.count == 5, let position = Int(columns[1]), let number = Int(columns[2]) else {
                throw LoadError("not a change: \(line)")
            }
            let operations = try JSONValue(parsing: Array(columns[4].utf8))
            logs[columns[0], default: []]
                .append(.init(position: position, kind: try kind(number, columns[3], operations)))
        }
        return logs
    }

    /// Returns the number of deadlocks that the database has resolved.
    static func deadlocks(_ system: any TestSystem) async throws -> Int {
        try await query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()", system).first
            .flatMap { Int($0) } ?? 0
    }

    /// Runs a query and returns its rows, with tabs between the columns.
    private static func query(_ sql: String, _ system: any TestSystem) async throws -> [Substring] {
        // A machine without a server may have only the client.
        let psql = try (try? Programs.findPostgres("psql")) ?? Programs.find("psql")
        let exit = try await ChildProcess.run(
            Launch(
                psql,
                arguments: [
                    "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql, system.databaseURL,
                ],
                output: .capture(limit: 256 << 20)))
        guard exit.isSuccess else { throw LoadError("psql: \(exit.output.suffix(500))") }
        return exit.output.split(separator: "\n")
    }

    private static func kind(
        _ number: Int, _ message: String, _ operations: JSONValue
    ) throws -> History.Conversation.Change.Kind {
        switch number {
        case 1: .created(participants: words(operations["participants"]))
        case 2: .participants(added: words(operations["added"]), removed: words(operations["removed"]))
        case 3:
            .metadata(
                (operations["effects"].array ?? []).map { .init(path: $0[0].string ?? "", value: $0[1].string) })
        case 4: .deleted
        case 5: .message("layer:///messages/" + message)
        case 6: .messageDeleted("layer:///messages/" + message)
        case 7, 8, 9: .receipts
        default: throw LoadError("a change of the kind \(number)")
        }
    }

    private static func words(_ list: JSONValue) -> [String] { (list.array ?? []).compactMap(\.string) }
}
