// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import SeededRandom
import StrataModel

@testable import StrataKit

/// Performs the actions of the sync machine, as the engine does.
extension SimulatedDevice {
    func perform(_ actions: [SyncMachine.Action]) {
        for action in actions {
            switch action {
            case .askToGoLive: if let socket { ask("Counter.read", id: "baseline", over: socket) }
            case .askForReplay(let time):
                if let socket {
                    ask("Event.replay", id: "replay", data: ["from_timestamp": .string(time)], over: socket)
                }
            case .beginListing(let epoch, let timestamp):
                write { try $0.beginListing(epoch: epoch, timestamp: timestamp) }
            case .keepTime(let time): write { $0.cursor.timestamp = time }
            case .finish(let ids): write { try $0.finishOperations(ids) }
            case .load(let load): begin(load)
            case .restartList(let load): write { $0.restart(list: load) }
            case .forget(let id): write { try $0.forgetConversation(id) }
            case .abandonHistory(let id): write { store in try store.updateProgress(of: id) { $0.goal = nil } }
            case .publish: break
            case .reconnect: network.hangUp(self)
            }
        }
    }

    private func begin(_ load: SyncLoad) {
        var page: LoadPage?
        write { page = try self.page(of: load, in: $0) }
        if let page { return ask(load, page) }
        machine.loaded(load)
        proceed()
    }

    private func ask(_ load: SyncLoad, _ page: LoadPage) {
        let life = life
        let socket = socket
        network.rest(me, "GET", page.path, nil, name: nil) { [self] answer in
            guard life == self.life, socket == self.socket else { return }
            loaded(load, page, answer)
        }
    }

    private func page(of load: SyncLoad, in store: StoreTransaction) throws -> LoadPage? {
        switch load {
        case .conversations(let next):
            let messages =
                switch core.policy {
                case .completeHistory: "2"
                case .unreadOnly: "unread"
                case .partialHistory(let count): "\(count)"
                }
            return LoadPage(path: next ?? "/conversations?sort_by=created_at&page_size=100&messages=\(messages)")
        case .identities(let next): return LoadPage(path: next ?? "/identities?page_size=500")
        case .announcements(let next): return LoadPage(path: next ?? "/announcements?page_size=100")
        case .blocks(let next): return LoadPage(path: next ?? "/blocks?page_size=500")
        case .conversation(let id): return LoadPage(path: "/conversations/\(id)")
        case .history(let id): return try store.historyPage(of: id)
        }
    }

    private func loaded(_ load: SyncLoad, _ page: LoadPage, _ answer: RESTResponse?) {
        guard let packets = machine.packets(since: load) else { return }
        guard let answer, answer.isSuccess else {
            let failure = answer.map { RequestFailure($0) } ?? .transient(.network("no answer"), retryAfter: nil)
            perform(machine.loadFailed(load, failure: failure, at: instant, random: random.unit()))
            return proceed()
        }
        let next = answer.nextPage(below: "https://sim")
        var following: LoadPage?
        write { store in
            following = try store.storePage(answer.json, of: load, page: page, next: next)
            if self.sabotage != .forgetsPacketsDuringLoads { for packet in packets { try store.applyPacket(packet) } }
            if following == nil { self.machine.loaded(load) }
        }
        if let following { ask(load, following) }
        proceed()
    }
}
