// SPDX-License-Identifier: Apache-2.0

extension StrataClient {
    /// The objects in the local store that a query finds, in its order. Never waits for the network or for synchronization.
    /// - Throws: ``StrataError`` of the query (codes 12000 to 12002), ``StrataError/Code/notAuthenticated``.
    public func execute<Element>(_ query: Query<Element>) async throws -> [Element] { try await signedIn().read { try $0.execute(query) } }

    /// The ids of the objects that a query finds, in its order.
    /// - Throws: as ``execute(_:)``.
    public func identifiers<Element>(_ query: Query<Element>) async throws -> [Element.ID] { try await signedIn().read { try $0.ids(query) } }

    /// The number of objects that a query finds.
    /// - Throws: as ``execute(_:)``.
    public func count<Element>(_ query: Query<Element>) async throws -> Int { try await signedIn().read { try $0.count(query) } }

    /// Keeps the result of a query current. Call ``QueryController/execute()`` to begin. The controller is of the current session: its updates end when another
    /// session becomes the current one, or the user signs out.
    /// - Parameters:
    ///   - updatableProperties: properties whose changes make updates; nil: all.
    ///   - paginationWindow: n > 0: the first n objects; n < 0: the last; nil: all.
    /// - Throws: ``StrataError/Code/notAuthenticated``, ``StrataError/Code/invalidArgument`` for a window of 0.
    public func queryController<Element>(
        _ query: Query<Element>, updatableProperties: [any PartialKeyPath<Element> & Sendable]? = nil, paginationWindow: Int? = nil
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
    /// The changes that query controllers receive.
    fileprivate var changedKind: ChangedKind {
        switch self {
        case .conversation: .conversation
        case .message: .message
        case .announcement: .announcement
        case .identity: .identity
        }
    }
}
