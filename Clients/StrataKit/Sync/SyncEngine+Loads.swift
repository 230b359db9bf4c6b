// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

extension SyncEngine {
    func performSyncActions(_ actions: [SyncMachine.Action]) {
        for action in actions {
            switch action {
            case .askToGoLive: sendRequest("Counter.read", id: "baseline")
            case .askForReplay(let time):
                sendRequest("Event.replay", id: "replay", data: ["from_timestamp": .string(time)])
            case .beginListing(let epoch, let timestamp):
                _ = writeOrReconnect { try $0.beginListing(epoch: epoch, timestamp: timestamp) }
            case .keepTime(let time): _ = writeOrReconnect { $0.cursor.timestamp = time }
            case .finish(let ids): _ = writeOrReconnect { try $0.finishOperations(ids) }
            case .load(let load): beginLoad(load)
            case .restartList(let load): _ = writeOrReconnect { $0.restart(list: load) }
            case .forget(let id): _ = writeOrReconnect { try $0.forgetConversation(id) }
            case .abandonHistory(let id): endHistory(of: id)
            case .publish(let event): publish(event)
            case .reconnect:
                guard let socket else { return }
                socketLost(
                    socket.number,
                    failure: ConnectionFailure(
                        .reconnect(.later(nil)), .network("the server refused the first request")))
            }
        }
    }

    /// Requests a conversation that is not on this device from the server, if there is a connection.
    func load(_ load: SyncLoad) {
        guard case .conversation(let id) = load, machine.isLive else { return }
        performSyncActions(machine.stored(SyncFindings(unknownConversations: [id]), cursor: core.cursor, at: .now))
        proceed()
    }

    /// Requests one message from the server, if there is a connection. The message is stored only if its conversation
    /// is known; otherwise it arrives with the conversation.
    func fetch(_ id: MessageID) {
        guard machine.isLive else { return }
        let (server, token) = (dependencies.server, token)
        startJob { engine in
            guard let answer = try? await server.call("GET", "/messages/\(id)", token: token), answer.isSuccess else {
                return
            }
            await engine.storeMessage(answer.json)
        }
    }

    private func storeMessage(_ json: JSONValue) {
        _ = writeOrReconnect { store in
            guard let shown = WireObjects.message(json, now: store.now),
                try store.conversation(shown.record.conversation) != nil
            else { return }
            try store.merge(shown)
        }
        proceed()
    }

    private func beginLoad(_ load: SyncLoad) {
        let page: LoadPage?
        do {
            page = try self.page(of: load)
        } catch {
            return performSyncActions(
                machine.loadFailed(
                    load, failure: .transient(.network("The store failed."), retryAfter: nil), at: .now, random: random)
            )
        }
        guard let page else {
            // The load is no longer needed.
            machine.loaded(load)
            if case .history(let id) = load { endHistory(of: id) }
            return proceed()
        }
        if case .history(let id) = load { _ = progressOfHistory(of: id) }
        requestLoad(load, page: page)
    }

    private func requestLoad(_ load: SyncLoad, page: LoadPage) {
        let (server, token, number) = (dependencies.server, token, socket?.number)
        startJob { engine in
            do {
                let answer = try await server.call("GET", page.path, token: token, deadline: .now + .seconds(60))
                await engine.loadAnswered(load, page: page, answer: answer, askedOn: number, token: token)
            } catch {
                await engine.loadFailed(load, failure: RequestFailure(error), askedOn: number, token: token)
            }
        }
    }

    /// Returns the first page of a load; nil if the load is no longer needed.
    private func page(of load: SyncLoad) throws -> LoadPage? {
        switch load {
        case .conversations(let next):
            let messages =
                switch core.policy {
                case .completeHistory: "\(Limits.pageSize)"
                case .unreadOnly: "unread"
                case .partialHistory(let count): "\(min(max(count, 1), Limits.pageSize))"
                }
            return LoadPage(
                path: next ?? "/conversations?sort_by=created_at&page_size=\(Limits.pageSize)&messages=\(messages)")
        case .identities(let next): return LoadPage(path: next ?? "/identities?page_size=500")
        case .announcements(let next): return LoadPage(path: next ?? "/announcements?page_size=\(Limits.pageSize)")
        case .blocks(let next): return LoadPage(path: next ?? "/blocks?page_size=500")
        case .conversation(let id): return LoadPage(path: "/conversations/\(id)")
        case .history(let id): return try write { try $0.historyPage(of: id) }
        }
    }

    /// Stores the answer to a load and requests its next page. Discards an answer that was requested on an earlier
    /// connection.
    func loadAnswered(_ load: SyncLoad, page: LoadPage, answer: RESTResponse, askedOn number: Int?, token: String?) {
        // The load may have been repeated on a later connection. The answer to the earlier request is older than the
        // packets of the replay.
        guard number == socket?.number, let packets = machine.packets(since: load) else { return }
        guard answer.isSuccess else {
            return loadFailed(load, failure: RequestFailure(answer), askedOn: number, token: token)
        }
        let next = answer.nextPage(below: dependencies.server.baseURL)
        var following: LoadPage?
        let isWritten = writeOrReconnect { store in
            following = try store.storePage(answer.json, of: load, page: page, next: next)
            // Packets received during the load may be newer than its answer.
            for packet in packets { try store.applyPacket(packet) }
            if following == nil { self.machine.loaded(load) }
            // Measure before the transaction ends, because the transaction may complete the synchronization.
            self.measure(load, answer: answer)
        }
        guard isWritten else { return }
        if let following { requestLoad(load, page: following) }
        proceed()
    }

    private func loadFailed(_ load: SyncLoad, failure: RequestFailure, askedOn number: Int?, token: String?) {
        guard number == socket?.number else { return }
        if case .signInNeeded(let nonce) = failure { sessionEnded(nonce: nonce, of: token) }
        performSyncActions(machine.loadFailed(load, failure: failure, at: .now, random: random))
        proceed()
    }
}

extension RESTResponse {
    /// Returns the path and query of the next page, relative to the base URL; nil if this is the last page.
    func nextPage(below base: String) -> String? {
        guard let link = header("Link"), link.hasSuffix("rel=\"next\""), let end = link.firstIndex(of: ">"),
            link.hasPrefix("<"),
            let url = URLComponents(string: String(link[link.index(after: link.startIndex)..<end]))
        else { return nil }
        let prefix = URLComponents(string: base)?.percentEncodedPath ?? ""
        let path =
            url.percentEncodedPath.hasPrefix(prefix)
            ? String(url.percentEncodedPath.dropFirst(prefix.count)) : url.percentEncodedPath
        return path + (url.percentEncodedQuery.map { "?" + $0 } ?? "")
    }
}
