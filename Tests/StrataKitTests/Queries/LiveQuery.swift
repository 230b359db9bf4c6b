// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

@testable import StrataKit

/// A query controller for messages, whose store notices the test sends.
struct LiveQuery {
    let store: QueryStore
    let controller: QueryController<Message>
    let notices: AsyncStream<Set<ChangedKind>>.Continuation
    /// Suspends each load while it is closed.
    let gate: ReadingGate

    init(window: Int? = nil, updatable: [any PartialKeyPath<Message> & Sendable]? = nil) throws {
        let (store, gate) = (try QueryStore(isEmpty: true), ReadingGate())
        for number in 1...4 {
            try store.addMessage(number, in: 1, position: Int64(number) * 10, from: "ana", isUnread: true)
        }
        let query = Query<Message>(
            where: { $0.conversationID == Example.conversation(1) }, sortBy: [.ascending(\.position)])
        let (stream, notices) = AsyncStream.makeStream(of: Set<ChangedKind>.self)
        (self.store, self.gate, self.notices) = (store, gate, notices)
        controller = try QueryController(
            query: query, updatableProperties: updatable, paginationWindow: window, notices: stream,
            fetch: { window, shown, known in
                await gate.pass()
                return try store.read { try $0.page(query, window: window, shown: shown, known: known) }
            })
    }

    func change(_ kind: ChangedKind = .message, _ change: () throws -> Void) rethrows {
        try change()
        notices.yield([kind])
    }

    var labels: [String] { get async { await controller.objects.map(\.label) } }
}

/// Suspends loads until it is opened, and reports when a load has arrived.
actor ReadingGate {
    private var isClosed = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var arrivals: [CheckedContinuation<Void, Never>] = []

    func close() { isClosed = true }
    func pass() async {
        guard isClosed else { return }
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            for arrival in arrivals { arrival.resume() }
            arrivals = []
        }
    }
    func arrival() async { if waiting.isEmpty { await withCheckedContinuation { arrivals.append($0) } } }
    func open() {
        isClosed = false
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}

extension ResultUpdate where Element: Labelled {
    /// The changes as text, for example `move a 0 3`.
    var lines: [String] {
        changes.map { change in
            switch change {
            case .insert(let object, let index): "insert \(object.label) \(index)"
            case .delete(let object, let index): "delete \(object.label) \(index)"
            case .move(let object, let old, let new): "move \(object.label) \(old) \(new)"
            case .update(let object, let index): "update \(object.label) \(index)"
            }
        }
    }
}
