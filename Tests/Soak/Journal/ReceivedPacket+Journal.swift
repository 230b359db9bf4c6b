// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import StrataCommand

extension ReceivedPacket {
    /// Returns the packet in one line, without the contents of messages.
    /// - Parameter now: The time at which the client records the packet.
    func journalLine(at now: ContinuousClock.Instant) -> String {
        let delay = (now - receivedAt).components
        var words = [
            "packet \(index)", "counter \(counter.map(String.init) ?? "-")", timestamp ?? "-",
            "noted after \(delay.seconds * 1000 + delay.attoseconds / 1_000_000_000_000_000) ms:", type,
        ]
        words += [operation, objectType, objectID].compactMap(\.self)
        if objectType != "Conversation", let conversation = conversationID { words.append("in \(conversation)") }
        if let position = body["position"].int { words.append("position \(position)") }
        if type == "response" {
            words.append(
                "\(body["method"].string ?? "") \(requestID ?? "") success \(body["success"].bool.map(String.init) ?? "-")"
            )
            if let error = data["id"].string, body["success"].bool != true { words.append(error) }
        }
        if type == "operation" {
            words.append("\(body["method"].string ?? "") up to \(data["position"].int.map(String.init) ?? "-")")
        }
        if type == "signal" { words.append("\(data["sender"]["user_id"].string ?? "") \(data["action"].string ?? "")") }
        for change in data.array ?? [] {
            words.append("[\(change["operation"].string ?? "") \(change["property"].string ?? "")]")
        }
        return words.joined(separator: " ")
    }
}
