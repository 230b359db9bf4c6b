// SPDX-License-Identifier: Apache-2.0

extension StrataClient {
    /// Returns the objects in the local store that match a query, in the query's order. Never waits for the network or
    /// for synchronization.
    /// - Throws: ``StrataError`` for an invalid query (codes 12000 to 12002), ``StrataError/Code/notAuthenticated``.
    public func execute<Element>(_ query: Query<Element>) async throws -> [Element] {
        try await signedIn().read { try $0.execute(query) }
    }

    /// Returns the ids of the objects that match a query, in the query's order.
    /// - Throws: the errors of ``execute(_:)``.
    public func identifiers<Element>(_ query: Query<Element>) async throws -> [Element.ID] {
        try await signedIn().read { try $0.ids(query) }
    }

    /// Returns the number of objects that match a query.
    /// - Throws: the errors of ``execute(_:)``.
    public func count<Element>(_ query: Query<Element>) async throws -> Int {
        try await signedIn().read { try $0.count(query) }
    }

    /// Returns a controller that keeps the result of a query current. Call ``QueryController/execute()`` to start it.
    /// The controller belongs to the current session: its updates end when another session becomes the current one, or
    /// the user signs out.
    /// - Parameters:
    ///   - updatableProperties: the properties whose changes cause updates; nil: all.
    ///   - paginationWindow: n > 0: the first n objects; n < 0: the last; nil: all.
    /// - Throws: ``StrataError/Code/notAuthenticated``; ``StrataError/Code/invalidArgument`` for a window of 0.
    public func queryController<Element>(
        _ query: Query<Element>, updatableProperties: [any PartialKeyPath<Element> & Sendable]? = nil,
        paginationWindow: Int? = nil
    ) throws -> QueryController<Element> {
        let engine = try signedIn()
        let (notices, sink) = AsyncStream.makeStream(of: Set<ChangedKind>.self)
        let forwarding = Task { [changes = engine.dependencies.link.changes.subscribe()] in
            for await batch in changes { sink.yield(Set(batch.map(\.object.changedKind))) }
            sink.finish()
        }
        sink.onTermination = { _ in forwarding.cancel() }
        return try QueryController(
            query: query, updatableProperties: updatableProperties, paginationWindow: paginationWindow, notices: notices
        ) { window, shown, known in
            try await engine.read { try $0.page(query, window: window, shown: shown, known: known) }
        }
    }
}

extension ObjectChange.Object {
    fileprivate var changedKind: ChangedKind {
        switch self {
        case .conversation: .conversation
        case .message: .message
        case .announcement: .announcement
        case .identity: .identity
        }
    }
}
