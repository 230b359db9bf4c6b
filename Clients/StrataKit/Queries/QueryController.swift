// SPDX-License-Identifier: Apache-2.0

/// Keeps the result of a query current, and tells how it changes.
///
/// ```swift
/// try await controller.execute()
/// let (objects, updates) = await controller.observe()
/// show(objects)
/// for await update in updates { apply(update) }
/// ```
///
/// For a long result set ``setPaginationWindow(_:)``: after each change in the store the objects that are shown are read again.
public actor QueryController<Element: Queryable> {
    /// Reads a part of the result from one consistent state of the store.
    typealias Fetch =
        @Sendable (_ window: ResultWindow, _ shown: [Element.ID], _ known: [Element.ID: ReadObject<Element>]) async throws -> ResultPage<Element>

    /// The query.
    public nonisolated let query: Query<Element>
    /// The properties whose changes are reported as updates. Nil means all. Inserts, deletes and moves do not depend on it.
    public nonisolated let updatableProperties: [any PartialKeyPath<Element> & Sendable]?

    private let fetch: Fetch
    private let notices: AsyncStream<Set<ChangedKind>>
    private var listening: Task<Void, Never>?
    private var refreshing: Task<Void, Never>?
    private var isRefreshWanted = false
    private var hasResult = false
    private var hasEnded = false
    private var window: ResultWindow
    /// Counts how often the app has set the window. A result for an earlier window does not replace a newer one.
    private var windowRevision = 0
    /// The revision of the window that ``objects`` fill. Only such objects can make the window grow.
    private var shownRevision = 0
    /// Objects that are not read again while they have the same revision.
    private var known: [Element.ID: ReadObject<Element>] = [:]
    /// Whether objects of other kinds that belong to the known objects have changed. The revisions do not show that.
    private var isKnownOutdated = false
    private var observers: [Int: AsyncStream<ResultUpdate<Element>>.Continuation] = [:]
    private var lastObserver = 0

    /// The objects within the window, in order; none before ``execute()``.
    public private(set) var objects: [Element] = []
    /// The number of objects in the result, inside and outside the window.
    public private(set) var totalNumberOfObjects = 0
    /// Why the result could not be read again after the latest change in the store; nil if it could. The next change is another attempt.
    public private(set) var failure: (any Error)?

    /// - Parameters:
    ///   - paginationWindow: see ``paginationWindow``.
    ///   - notices: what changed in the store, after each batch of changes; the end of the stream ends the controller's updates.
    ///   - fetch: reads a part of the result; what it returns must contain all changes of which there were notices when it was called.
    /// - Throws: ``StrataError/Code/invalidArgument`` for a window of 0.
    init(
        query: Query<Element>, updatableProperties: [any PartialKeyPath<Element> & Sendable]? = nil, paginationWindow: Int? = nil,
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

    /// Reads the result, and from now on follows the changes of the store. Called again, it reads the result anew; observers are told what is different.
    /// - Throws: ``StrataError/Code/queryControllerExecutionFailure`` while the result is being read already; an error of the query or the store.
    public func execute() async throws {
        guard refreshing == nil else { throw StrataError(.queryControllerExecutionFailure, "the result is being read already") }
        listen()
        try await refresh()
    }

    /// The number of objects in the window.
    public var count: Int { objects.count }

    /// Always 1. LayerKit has sections.
    public var numberOfSections: Int { 1 }

    /// How many objects are shown: a positive number for the first ones, a negative number for the last ones, nil for all. It grows by itself when objects
    /// are inserted between those that are shown.
    public var paginationWindow: Int? { window.paginationWindow }

    /// Shows more, fewer or other objects of the result. Observers are told of objects that come in and go as inserts and deletes.
    /// - Throws: ``StrataError/Code/invalidArgument`` for 0; an error of the query or the store, and then the new window is filled after the next change.
    public func setPaginationWindow(_ count: Int?) async throws {
        window = try ResultWindow(paginationWindow: count)
        windowRevision += 1
        if hasResult || refreshing != nil { try await refresh() }
    }

    /// The object at an index in the window. Nil if there is none.
    public func object(at index: Int) -> Element? { objects.indices.contains(index) ? objects[index] : nil }

    /// The index of an object. Nil if it is not in the window.
    public func index(of object: Element) -> Int? { index(of: object.id) }

    /// The index of the object with this id. Nil if it is not in the window.
    public func index(of id: Element.ID) -> Int? { objects.firstIndex { $0.id == id } }

    /// The indexes of the objects with these ids. Ids that are not in the window are left out.
    public func indexes(of ids: Set<Element.ID>) -> [Element.ID: Int] {
        Dictionary(objects.enumerated().lazy.filter { ids.contains($1.id) }.map { ($1.id, $0) }) { first, _ in first }
    }

    // MARK: Observers

    /// Each access returns a new stream with all updates from now on, in order. An update is kept until it is taken, so slow observers delay nothing.
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

    /// The objects within the window, and all updates that come after this state.
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

    private func end() {
        hasEnded = true
        for observer in observers.values { observer.finish() }
    }

    /// Reads the result once more, and returns when that is done.
    private func refresh() async throws {
        let running = refreshing
        wantRefresh()
        // The present reading may have missed the change. The next one starts when it ends.
        await running?.value
        await refreshing?.value
        if let failure { throw failure }
    }

    /// Starts to read the result, or reads it again after the present reading. Many notices during one reading cause one more reading.
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
            pageRead(try await fetch(window, shownRevision == revision ? objects.map(\.id) : [], known), revision: revision)
            failure = nil
        } catch {
            failure = error
        }
        refreshing = nil
        if isRefreshWanted { wantRefresh() }
    }

    private func pageRead(_ page: ResultPage<Element>, revision: Int) {
        let now = page.objects.map(\.object)
        let update = ResultUpdate(from: objects, to: now, updatable: updatableProperties)
        (objects, totalNumberOfObjects) = (now, page.totalCount)
        known = Element.querySource.revisionColumn == nil ? [:] : Dictionary(page.objects.map { ($0.object.id, $0) }) { first, _ in first }
        if revision == windowRevision { window = page.window }
        shownRevision = revision
        if hasResult, !update.changes.isEmpty { for observer in observers.values { observer.yield(update) } }
        hasResult = true
    }
}
