// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// Looks up conversations that a catch-up has to show whole, in the order in which it will need them: a batch at a time, so that a catch-up takes no more
/// memory than a batch, however many there are and however large.
///
/// A value: it says what to ask the services, and is told what they answered.
package struct ViewLookups: Sendable {
    /// What to ask the services.
    package enum Request: Sendable {
        /// As many of these, from the first on, as one answer holds, without their trees.
        case bare([ConversationID])
        /// The trees of as many of these, from the first on, as one answer holds.
        case trees([ConversationView])
        case alone(ConversationID)
    }

    package enum Answer: Sendable {
        /// Those that the user sees of the first `covered` that were asked for.
        case bare([ConversationView], covered: Int)
        /// The first of those that were asked for, at least one, with their trees.
        case trees([ConversationView])
        case alone(ConversationView)
    }

    /// What became of one conversation.
    enum Look: Sendable {
        case view(ConversationView)
        /// The user does not see it.
        case unseen
        /// It is there, and cannot be shown, as when it is larger than an answer may be.
        case unshowable
    }

    enum Next: Sendable {
        case known(Look)
        case ask(Request)
    }

    /// Not asked for yet.
    private var wanted: [ConversationID]
    /// Found, still without their trees.
    private var bare: [ConversationView] = []
    /// Looked up. A view is used once; that there is none is the answer for as long as this value lives.
    private var looks: [ConversationID: Look] = [:]
    private var size = BatchSize()
    private var asked = Request.bare([])
    /// Conversations asked for at once, at most.
    private static let width = 100

    /// - Parameter ids: in the order of need; one that is not among them is looked up when it is asked for.
    init(of ids: [ConversationID]) {
        var seen: Set<ConversationID> = []
        wanted = ids.filter { seen.insert($0).inserted }
    }

    /// Whether ``next(for:)`` needs no call to a service.
    func has(_ id: ConversationID) -> Bool { looks[id] != nil }

    /// The conversation as the user sees it, as of some time after this value was made; or what to ask the services before that is known.
    mutating func next(for id: ConversationID) -> Next {
        if let look = looks[id] {
            if case .view = look { looks[id] = nil }
            return .known(look)
        }
        // What was fetched and not used so far is needed no more, or once more later.
        looks = looks.filter { if case .view = $0.value { false } else { true } }
        if let index = wanted.firstIndex(of: id) {
            wanted.removeFirst(index)
            asked = .bare(Array(wanted.prefix(Self.width)))
        } else if let index = bare.firstIndex(where: { $0.conversation.id == id }) {
            bare.removeFirst(index)
            asked = .trees(Array(bare.prefix(size.count(of: bare.count))))
        } else {
            asked = .alone(id)
        }
        return .ask(asked)
    }

    mutating func answered(_ answer: Answer) throws(Failure) {
        switch (asked, answer) {
        case (.bare(let ids), .bare(let views, let covered)):
            let seen = Set(views.map(\.conversation.id))
            for id in ids.prefix(covered) where !seen.contains(id) { looks[id] = .unseen }
            // At least the one that is needed now: it is asked for alone if it was not covered.
            wanted.removeFirst(min(wanted.count, max(1, covered)))
            bare = views
        case (.trees(let all), .trees(let views)) where !views.isEmpty && views.count <= bare.count:
            size.came(views.count, of: all.count)
            bare.removeFirst(views.count)
            for view in views { looks[view.conversation.id] = .view(view) }
        case (.alone(let id), .alone(let view)): looks[id] = .view(view)
        default: throw .unavailable
        }
    }

    /// They have failed.
    /// - Throws: the failure, if it says nothing about one conversation.
    mutating func failed(_ failure: Failure) throws(Failure) {
        switch (asked, failure.code) {
        case (.trees, .internalServerError):
            // An answer holds at least the first one, so that is the one that cannot be had.
            guard let first = bare.first else { throw failure }
            looks[first.conversation.id] = .unshowable
            bare.removeFirst()
        case (.alone(let id), .notFound), (.alone(let id), .accessDenied): looks[id] = .unseen
        case (.alone(let id), .internalServerError): looks[id] = .unshowable
        default: throw failure
        }
    }
}
