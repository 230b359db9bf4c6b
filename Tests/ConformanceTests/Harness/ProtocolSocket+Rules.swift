// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

extension ProtocolSocket {
    /// Sends a request, with the deadline of these tests.
    func ask(_ method: String, _ objectID: String? = nil, _ data: JSONValue? = nil) async throws -> SocketResponse {
        try await request(method, objectID: objectID, data: data, deadline: Fixture.deadline)
    }

    /// Sends a request that must succeed.
    @discardableResult
    func does(
        _ method: String, _ objectID: String? = nil, _ data: JSONValue? = nil, line: UInt = #line
    ) async throws -> JSONValue {
        let answer = try await ask(method, objectID, data)
        guard answer.isSuccess else { throw HarnessError("\(method): \(answer.data) (line \(line))") }
        return answer.data
    }

    /// Consumes the next change of this kind.
    @discardableResult
    func change(
        _ operation: String, _ type: String, _ id: String? = nil,
        where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> ReceivedPacket {
        try await nextPacket("\(type) \(operation) \(id ?? "")", deadline: Fixture.deadline) {
            $0.isChange(operation, of: type, id: id) && matches($0.data)
        }
    }

    /// Consumes the message with this text. Everything sent to its conversation before has then arrived, too.
    @discardableResult
    func message(_ text: String) async throws -> ReceivedPacket {
        try await change("create", "Message") { $0["parts"][0]["body"].string == text }
    }

    @discardableResult
    func typingSeen(_ action: String, in conversation: String) async throws -> ReceivedPacket {
        try await nextPacket("typing \(action)", deadline: Fixture.deadline) {
            $0.isTyping(action, conversation: conversation)
        }
    }

    /// Waits until the received packets, consumed or not, meet a condition. Returns silently at the timeout; the caller
    /// must check.
    func wait(
        for patience: Duration = Fixture.patience, until isEnough: @escaping @Sendable ([ReceivedPacket]) -> Bool
    ) async {
        let coming = packets()
        if isEnough(history) { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in coming where isEnough(self.history) { return } }
            group.addTask { try? await Task.sleep(for: patience) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Returns the packets in a range, without responses and without updates that repeat a conversation's known counts.
    /// A gateway sends such updates at the end of every catch-up, including those that no client requested.
    func news(in range: Range<Int>) -> [ReceivedPacket] {
        let history = history
        return history.filter { packet in
            guard range.contains(packet.index), packet.type != "response" else { return false }
            let operations = packet.data.array ?? []
            let counts = ["unread_message_count", "total_message_count"]
            guard packet.isChange("update", of: "Conversation"), operations.count == 2,
                operations.allSatisfy({ counts.contains($0["property"].string ?? "") })
            else { return true }
            return operations.contains { operation in
                let property = operation["property"].string ?? ""
                let known = history.last {
                    $0.index < packet.index && $0.objectID == packet.objectID && $0.value(of: property) != nil
                }
                return known?.value(of: property) != operation["value"]
            }
        }
    }

    func packets(from index: Int) -> [ReceivedPacket] { history.filter { $0.index >= index } }
}

extension JSONValue {
    func operation(_ property: String) -> JSONValue? { array?.first { $0["property"].string == property } }

    func has(_ operation: String, _ property: String, value: JSONValue? = nil, id: String? = nil) -> Bool {
        (array ?? [])
            .contains {
                $0["operation"].string == operation && $0["property"].string == property
                    && (value == nil || $0["value"] == value)
                    && (id == nil || $0["id"].string == id)
            }
    }

    var userIDs: Set<String> { Set((array ?? []).compactMap { $0["user_id"].string }) }
    var ids: [String] { (array ?? []).compactMap { $0["id"].string } }
}

extension ReceivedPacket {
    /// A short description of the packet: `M create`, `C update set last_message, set total_message_count`, `signal
    /// started`. User names appear without their unique suffix; operations are in alphabetical order.
    var summary: String {
        switch type {
        case "change":
            let letter =
                ["Conversation": "C", "Message": "M", "MessagePart": "P", "Identity": "I", "Announcement": "A"][
                    objectType ?? ""] ?? "?"
            let operations = (data.array ?? [])
                .map { "\($0["operation"].string ?? "?") \(Self.short($0["property"].string ?? "?"))" }
            let mode = data["mode"].string
            let detail =
                operation == "update"
                ? operations.sorted().joined(separator: ", ") : operation == "delete" ? mode ?? "null" : ""
            return "\(letter) \(operation ?? "?")" + (detail.isEmpty ? "" : " " + detail)
        case "operation": return "operation \(body["method"].string ?? "?")"
        case "signal": return "signal \(data["action"].string ?? "?")"
        case "response": return "response \(body["method"].string ?? "?")"
        default: return "unknown \(type)"
        }
    }

    /// Returns the packet's value for a property of its object; nil if it has none.
    func value(of property: String) -> JSONValue? {
        operation == "create" ? data[property] : data.operation(property)?["value"]
    }

    /// Splits a path at its unescaped dots.
    static func segments(_ path: String) -> [String] {
        var result = [""]
        var isEscaped = false
        for character in path {
            if isEscaped {
                result[result.count - 1].append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "." {
                result.append("")
            } else {
                result[result.count - 1].append(character)
            }
        }
        return result
    }

    private static func short(_ path: String) -> String {
        segments(path)
            .map { segment in
                guard segment.hasPrefix("layer:///identities/") else { return segment }
                return String(segment.dropFirst("layer:///identities/".count).prefix { $0 != "." })
            }
            .joined(separator: ".")
    }
}
