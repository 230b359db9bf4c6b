// SPDX-License-Identifier: Apache-2.0
import FanOut
import StrataModel

/// Looks up conversations that a catch-up has to show whole, in the order in which it will need them: a batch at a time, so that a catch-up takes no more
/// memory than a batch, however many there are and however large.
struct ViewLookups {
    private let services: GatewayServices
    private let key: UserKey
    /// Not asked for yet.
    private var wanted: [ConversationID]
    /// Found, still without their trees.
    private var bare: [ConversationView] = []
    /// Looked up. A view is used once; that there is none is the answer for as long as this value lives.
    private var results: [ConversationID: Result<ConversationView, Failure>] = [:]
    private var size = BatchSize()
    /// Conversations asked for at once, at most.
    private static let asked = 100

    /// - Parameter ids: in the order of need; one that is not among them is looked up when it is asked for.
    init(of ids: [ConversationID], for key: UserKey, through services: GatewayServices) {
        var seen: Set<ConversationID> = []
        wanted = ids.filter { seen.insert($0).inserted }
        self.services = services
        self.key = key
    }

    /// Whether ``take(_:)`` needs no call to a service.
    func has(_ id: ConversationID) -> Bool { results[id] != nil }

    /// The conversation as the user sees it, as of some time after this value was made.
    /// - Throws: `not_found` or `access_denied` if the user does not see it, `internal_server_error` if it is there and cannot be had, as when it is larger
    ///   than an answer may be. Any other failure says nothing about this conversation.
    mutating func take(_ id: ConversationID) async throws(Failure) -> ConversationView {
        if results[id] == nil { try await fetch(id) }
        guard let result = results[id] else { throw .unavailable }
        if case .success = result { results[id] = nil }
        return try result.get()
    }

    /// Sees to it that there is a result for `id`, and as many more as fit into a batch with it.
    private mutating func fetch(_ id: ConversationID) async throws(Failure) {
        // What was fetched and not used so far is needed no more, or once more later.
        results = results.filter { if case .success = $0.value { false } else { true } }
        if let index = wanted.firstIndex(of: id) {
            wanted.removeFirst(index)
            try await fetchBare()
        }
        guard let index = bare.firstIndex(where: { $0.conversation.id == id }) else {
            if results[id] == nil { try await fetchAlone(id) }
            return
        }
        bare.removeFirst(index)
        try await fetchTrees()
    }

    private mutating func fetchBare() async throws(Failure) {
        let (views, covered) = try await services.bareConversations(Array(wanted.prefix(Self.asked)), for: GatewayServices.Call(key))
        let seen = Set(views.map(\.conversation.id))
        for id in wanted.prefix(covered) where !seen.contains(id) { results[id] = .failure(.notFound("conversation")) }
        wanted.removeFirst(covered)
        bare = views
    }

    private mutating func fetchTrees() async throws(Failure) {
        let call = GatewayServices.Call(key)
        let asked = Array(bare.prefix(size.count(of: bare.count)))
        do throws(Failure) {
            let views = try await services.inTurn(of: key) { [services] answers throws(Failure) in
                var call = call
                call.answers = answers
                let trees = try await services.someTrees(of: asked.map(\.conversation.id), for: call)
                return await services.composed(Array(asked.prefix(trees.count)), with: trees, for: call)
            }
            size.came(views.count, of: asked.count)
            bare.removeFirst(views.count)
            for view in views { results[view.conversation.id] = .success(view) }
        } catch {
            guard error.code == .internalServerError, let first = bare.first else { throw error }
            // An answer holds at least the first one, so that is the one that cannot be had.
            results[first.conversation.id] = .failure(error)
            bare.removeFirst()
        }
    }

    private mutating func fetchAlone(_ id: ConversationID) async throws(Failure) {
        do throws(Failure) {
            results[id] = .success(try await services.conversation(id, for: GatewayServices.Call(key)))
        } catch {
            switch error.code {
            case .notFound, .accessDenied, .internalServerError: results[id] = .failure(error)
            default: throw error
            }
        }
    }
}
