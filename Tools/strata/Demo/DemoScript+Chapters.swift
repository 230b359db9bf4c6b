// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient

/// The chapter about typing, which the server ends after a timeout.
///
/// Typing is ephemeral: a user who was offline missed it, and a restart may shift its times. An attempt that a lost
/// connection disturbed is therefore repeated.
extension DemoScript {
    /// The connections and processes that affect the timing of a signal.
    private struct Surroundings: Equatable {
        let connections: [Int]
        let processes: [String: Int32]?
    }

    private enum Outcome {
        case seen
        case missed(String)
        /// Every signal arrived, but not in time.
        case late(String)
    }

    func typing(in id: String) async {
        transcript.chapter("Ana types and then stops; the server ends the typing")
        for attempt in 1...4 {
            let before = surroundings()
            let outcome = await typeOnce(in: id)
            let isUndisturbed = surroundings() == before
            switch outcome {
            case .seen: return
            case .late(let what) where isUndisturbed && before.processes != nil:
                return transcript.failedExpectation(what)
            case .late(let what): return transcript.transientFailure("\(what), which a restart may do")
            case .missed(let what) where isUndisturbed || attempt == 4: return transcript.failedExpectation(what)
            case .missed(let what):
                transcript.transientFailure("\(what), for a connection or a process was lost meanwhile; once more")
            }
        }
    }

    private func surroundings() -> Surroundings {
        Surroundings(
            connections: [ana, ben].map { $0.state.change { $0.connection } }, processes: system.ephemeralProcesses())
    }

    private func typeOnce(in id: String) async -> Outcome {
        ben.forget { $0.isTyping() }
        guard let started = await startTyping(in: id) else { return .missed("Ben did not see that Ana types") }
        // If an idle Redis was replaced by an empty one, the typist is lost. Gateways then end the typing, without a
        // pause, after 25 s of silence.
        let limit = typingPeriod * 2 + .seconds(30)
        guard
            let next = await ben.takePacket(
                within: limit,
                where: { $0.isTyping("paused", conversation: id) || $0.isTyping("finished", conversation: id) })
        else { return .missed("Ben did not see that Ana paused") }
        guard next.isTyping("paused") else { return .late("Ben saw no pause before the end") }
        let pausedAfter = started.duration(to: next.receivedAt)
        transcript.say("Ben sees that Ana paused, \(pausedAfter.brief) after the last signal")
        guard let finished = await ben.takePacket(within: limit, where: { $0.isTyping("finished", conversation: id) })
        else {
            return .missed("Ben did not see that Ana finished")
        }
        let finishedAfter = next.receivedAt.duration(to: finished.receivedAt)
        transcript.say("Ben sees that Ana finished, \(finishedAfter.brief) later")
        if await ben.takePacket(within: .seconds(3), where: { $0.isTyping(conversation: id) }) != nil {
            return .late("Ben saw typing after its end")
        }
        transcript.say("Ben sees nothing more of it")
        let isPunctual = [pausedAfter, finishedAfter]
            .allSatisfy { $0 > typingPeriod * 0.9 && $0 < typingPeriod + .seconds(3) }
        return isPunctual ? .seen : .late("typing ended after \(pausedAfter.brief) and \(finishedAfter.brief)")
    }

    /// Sends typing signals at the interval of stock clients until Ben sees one.
    /// - Returns: The time of the last signal.
    private func startTyping(in id: String) async -> ContinuousClock.Instant? {
        transcript.say("Ana types")
        for _ in 1...10 {
            guard let socket = await ana.readySocket() else { return nil }
            let now = ContinuousClock.now
            try? await socket.typing("started", in: id)
            if await ben.takePacket(within: .milliseconds(2500), where: { $0.isTyping("started", conversation: id) })
                != nil
            {
                transcript.say("Ben sees that Ana types")
                return now
            }
        }
        return nil
    }
}

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
                "\(user.name) has every position from 1 to \(head): \(ledger.received) packets, "
                    + "\(ledger.repeated) of them repeated by replays, "
                    + "\(user.state.change { $0.connection }) connections")
        }
    }
}
