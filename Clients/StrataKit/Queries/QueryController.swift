// SPDX-License-Identifier: Apache-2.0

/// A live query: keeps the result of a query current and reports its changes.
///
/// ```swift
/// try await controller.execute()
/// let (objects, updates) = await controller.observe()
/// show(objects)
/// for await update in updates { apply(update) }
/// ```
///
/// Use ``setPaginationWindow(_:)`` for a long result: each relevant change of the store reloads all objects in the
/// window.
public actor QueryController<Element: Queryable> {
    /// Reads a page of the result from one consistent state of the store.
    typealias Fetch =
        @Sendable (_ window: ResultWindow, _ shown: [Element.ID], _ known: [Element.ID: ReadObject<Element>])
        async throws -> ResultPage<Element>

    /// The query.
    public nonisolated let query: Query<Element>
    /// The properties whose changes are reported as updates; nil: all. Inserts, deletes and moves are always reported.
    public nonisolated let updatableProperties: [any PartialKeyPath<Element> & Sendable]?

    private let fetch: Fetch
    private let notices: AsyncStream<Set<ChangedKind>>
    private var listening: Task<Void, Never>?
    private var refreshing: Task<Void, Never>?
    private var isRefreshWanted = false
    private var hasResult = false
    private var hasEnded = false
    private var window: ResultWindow
    /// Incremented when the app sets the window. The page of an earlier window does not replace a newer window.
    private var windowRevision = 0
    /// The window revision of ``objects``. Only objects of the current window can make it grow.
    private var shownRevision = 0
    /// A cache of loaded objects. An object is not loaded again while its revision is unchanged.
    private var known: [Element.ID: ReadObject<Element>] = [:]
    /// True if related objects of other types have changed. Revisions do not cover those, so the cache is invalid.
    private var isKnownOutdated = false
    private var observers: [Int: AsyncStream<ResultUpdate<Element>>.Continuation] = [:]
    private var lastObserver = 0

    /// The objects in the window, in order; empty before ``execute()``.
    public private(set) var objects: [Element] = []
    /// The number of objects in the result, inside and outside the window.
    public private(set) var totalNumberOfObjects = 0
    /// The error of the latest reload; nil if it succeeded. The next change of the store triggers another reload.
    public private(set) var failure: (any Error)?

    /// - Parameters:
    ///   - notices: the types of changed objects, after each batch of changes. The end of the stream ends the
    ///     controller's updates.
    ///   - fetch: reads a page of the result. The page must reflect all changes that were announced before the call.
    /// - Throws: ``StrataError/Code/invalidArgument`` for a window of 0.
    init(
        query: Query<Element>, updatableProperties: [any PartialKeyPath<Element> & Sendable]? = nil,
        paginationWindow: Int? = nil,
        notices: AsyncStream<Set<ChangedKind>>, fetch: @escaping Fetch
    ) throws {
        self.query = query
        self.updatableProperties = updatableProperties
        self.window = try ResultWindow(paginationWindow: paginationWindow)
        self.notices = notices
        self.fetch = fetch
    }

    deinit {
        listening?.cancel()
        for observer in observers.values { observer.finish() }
    }

    // MARK: The result

    /// Loads the result and starts to observe the store. A further call reloads the result; observers receive the
    /// differences.
    /// - Throws: ``StrataError/Code/queryControllerExecutionFailure`` while a load is in progress; errors of the query
    ///   or the store.
    public func execute() async throws {
        guard refreshing == nil else {
            throw StrataError(.queryControllerExecutionFailure, "the result is being read already")
        }
        listen()
        try await refresh()
    }

    /// The number of objects in the window.
    public var count: Int { objects.count }

    /// Always 1. Exists for compatibility with LayerKit.
    public var numberOfSections: Int { 1 }

    /// The pagination window: a positive number for the first objects, a negative number for the last ones, nil for
    /// all. It grows automatically when objects are inserted between those in the window.
    public var paginationWindow: Int? { window.paginationWindow }

    /// Changes the window. Observers receive objects that enter or leave the window as inserts and deletes.
    /// - Throws: ``StrataError/Code/invalidArgument`` for 0; errors of the query or the store, in which case the next
    ///   change of the store fills the new window.
    public func setPaginationWindow(_ count: Int?) async throws {
        window = try ResultWindow(paginationWindow: count)
        windowRevision += 1
        if hasResult || refreshing != nil { try await refresh() }
    }

    /// Returns the object at an index in the window; nil if the index is out of range.
    public func object(at index: Int) -> Element? { objects.indices.contains(index) ? objects[index] : nil }

    /// Returns the index of an object; nil if it is not in the window.
    public func index(of object: Element) -> Int? { index(of: object.id) }

    /// Returns the index of the object with this id; nil if it is not in the window.
    public func index(of id: Element.ID) -> Int? { objects.firstIndex { $0.id == id } }

    /// Returns the indexes of the objects with these ids. Ids that are not in the window are omitted.
    public func indexes(of ids: Set<Element.ID>) -> [Element.ID: Int] {
        Dictionary(objects.enumerated().lazy.filter { ids.contains($1.id) }.map { ($1.id, $0) }) { first, _ in first }
    }

    // MARK: Observers

    /// A stream of all updates after the access, in order. Each access returns a new stream. Updates are buffered, so
    /// slow observers delay nothing.
    public var updates: AsyncStream<ResultUpdate<Element>> {
        let (stream, observer) = AsyncStream.makeStream(of: ResultUpdate<Element>.self)
        guard !hasEnded else {
            observer.finish()
            return stream
        }
        lastObserver += 1
        let key = lastObserver
        observers[key] = observer
        observer.onTermination = { [weak self] _ in Task { await self?.removeObserver(key) } }
        return stream
    }

    /// Returns the objects in the window, and the stream of all updates that follow this state.
    public func observe() -> (objects: [Element], updates: AsyncStream<ResultUpdate<Element>>) { (objects, updates) }

    private func removeObserver(_ observer: Int) { observers[observer] = nil }

    // MARK: Reading

    private func listen() {
        guard listening == nil else { return }
        listening = Task { [weak self, notices] in
            for await kinds in notices { await self?.noteChange(kinds) }
            await self?.end()
        }
    }

    private func noteChange(_ kinds: Set<ChangedKind>) {
        let concerned = kinds.intersection(Element.querySource.dependencies)
        guard !concerned.isEmpty else { return }
        if concerned != [Element.querySource.kind] { isKnownOutdated = true }
        wantRefresh()
    }

    /// Ends the streams of updates, because no further notices arrive.
    private func end() {
        hasEnded = true
        for observer in observers.values { observer.finish() }
    }

    /// Waits for a result that includes all earlier changes of the store.
    /// - Throws: the error of the last reload.
    private func refresh() async throws {
        let running = refreshing
        wantRefresh()
        // A reload in progress may have missed the change; the next one starts after it.
        await running?.value
        await refreshing?.value
        if let failure { throw failure }
    }

    /// Starts a reload, or schedules one after the reload in progress. Several notices during one reload cause a single
    /// further reload.
    private func wantRefresh() {
        guard refreshing == nil else {
            isRefreshWanted = true
            return
        }
        isRefreshWanted = false
        refreshing = Task { [weak self] in await self?.readPage() }
    }

    private func readPage() async {
        let revision = windowRevision
        if isKnownOutdated { known = [:] }
        isKnownOutdated = false
        do {
            showPage(
                try await fetch(window, shownRevision == revision ? objects.map(\.id) : [], known), revision: revision)
            failure = nil
        } catch {
            failure = error
        }
        refreshing = nil
        if isRefreshWanted { wantRefresh() }
    }

    /// Replaces the objects with those of a page, and sends the differences to the observers.
    private func showPage(_ page: ResultPage<Element>, revision: Int) {
        let now = page.objects.map(\.object)
        let update = ResultUpdate(from: objects, to: now, updatable: updatableProperties)
        (objects, totalNumberOfObjects) = (now, page.totalCount)
        known =
            Element.querySource.revisionColumn == nil
            ? [:] : Dictionary(page.objects.map { ($0.object.id, $0) }) { first, _ in first }
        if revision == windowRevision { window = page.window }
        shownRevision = revision
        if hasResult, !update.changes.isEmpty { for observer in observers.values { observer.yield(update) } }
        hasResult = true
    }
}
