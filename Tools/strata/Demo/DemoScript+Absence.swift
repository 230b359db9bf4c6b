// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// The chapter about a lost connection. Ben is disconnected while the conversation changes, reconnects and replays.
/// Then the replicas are compared with the server.
extension DemoScript {
    func absence(from id: String) async {
        transcript.chapter("Ben is cut off")
        await ben.loseNetwork()
        transcript.say("Ben's connection is cut")
        guard let messages = await changesMeanwhile(in: id) else { return }
        for message in messages { await ana.sees("the new message", operation: "create", of: "Message", id: message) }
        transcript.chapter("Ben comes back" + (system.gateways.count > 1 ? ", through another gateway" : ""))
        ben.comeBack()
        for (number, message) in messages.enumerated() {
            await ben.sees(
                "message \(number + 1) of \(messages.count)", operation: "create", of: "Message", id: message)
        }
        _ = await ben.readySocket()
        await awaitReplica(ben, what: "trip.hotel = Lello, and the title gone", of: id) {
            $0.metadata == ["trip": ["city": "Porto", "hotel": "Lello"]]
        }
        await awaitReplica(ben, what: "Cleo among the participants", of: id) { [cleo] in $0.participants.contains(cleo)
        }
        await awaitReplica(ben, what: "three unread messages of six", of: id) { $0.unread == 3 && $0.total == 6 }
    }

    /// Makes changes while Ben is offline.
    /// - Returns: The ids of Ana's messages; nil after a failure.
    private func changesMeanwhile(in id: String) async -> [String]? {
        let path = Self.path(id)
        var messages: [String] = []
        for text in ["Where are you?", "We have three seats", "Platform 4"] {
            guard let message = await post(text, by: ana, in: id) else { return nil }
            messages.append(message)
        }
        let hotel: JSONValue = [["operation": "set", "property": "metadata.trip.hotel", "value": "Lello"]]
        await ana.patches("sets trip.hotel to “Lello”", path: path, operations: hotel) {
            $0["metadata"]["trip"]["hotel"].string == "Lello"
        }
        let title: JSONValue = [["operation": "delete", "property": "metadata.title"]]
        await ana.patches("deletes the title", path: path, operations: title) { $0["metadata"]["title"].isNull }
        let addition: JSONValue = [["operation": "add", "property": "participants", "id": .string(cleo)]]
        await ana.patches("adds Cleo", path: path, operations: addition) { [cleo] conversation in
            (conversation["participants"].array ?? []).contains { $0["id"].string == cleo }
        }
        return messages
    }

    /// Compares each user's replica with the server's state.
    func account(of id: String) async {
        transcript.chapter("The account")
        for user in [ana, ben] {
            guard let answer = await user.call("GET", Self.path(id)), answer.isSuccess,
                let head = answer.json["position"].int
            else {
                transcript.failedExpectation("\(user.name) could not read the conversation")
                continue
            }
            let wanted = ConversationReplica(answer.json)
            let settled = await user.state.first(within: transcript.missing.isEmpty ? DemoUser.patience : .seconds(8)) {
                state in
                state.ledger.missing(of: id, upTo: head).isEmpty && state.replicas[id] == wanted ? true : nil
            }
            let (ledger, replica) = user.state.change { ($0.ledger, $0.replicas[id]) }
            for fault in ledger.faults { transcript.failedExpectation("\(user.name)'s connection: \(fault)") }
            if settled != true {
                let missing = ledger.missing(of: id, upTo: head)
                if !missing.isEmpty { transcript.failedExpectation("\(user.name) was not sent positions \(missing)") }
                let differences = replica?.differences(from: wanted) ?? "no conversation"
                if !differences.isEmpty {
                    transcript.failedExpectation(
                        "what \(user.name) was told is not what the server has: \(differences)")
                }
                continue
            }
            transcript.say(
                "\(user.name) has every position from 1 to \(head): \(ledger.received) packets, \(ledger.repeated) of them repeated by replays, "
                    + "\(user.state.change { $0.connection }) connections")
        }
    }
}
