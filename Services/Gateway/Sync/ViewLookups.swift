// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// Looks up the conversations that a catch-up has to send in full, in the order of need. It works in batches, so that
/// memory is bounded by one batch, for any number and size of conversations.
///
/// A value: it returns requests for the services and receives their answers.
package struct ViewLookups: Sendable {
    package enum Request: Sendable {
        /// Conversations without their metadata trees. The answer holds as many as fit, from the first on.
        case bare([ConversationID])
        /// The metadata trees of conversations. The answer holds as many as fit, from the first on.
        case trees([ConversationView])
        case alone(ConversationID)
    }

    package enum Answer: Sendable {
        /// The conversations that are visible to the user, out of the first `covered` requested ones.
        case bare([ConversationView], covered: Int)
        /// The first requested conversations, at least one, with their trees.
        case trees([ConversationView])
        case alone(ConversationView)
    }

    enum LookUpResult: Sendable {
        case view(ConversationView)
        /// The conversation is not visible to the user.
        case unseen
        /// The conversation exists and cannot be sent, for example because it exceeds the size limit of an answer.
        case unshowable
    }

    enum Next: Sendable {
        case known(LookUpResult)
        case ask(Request)
    }

    /// The conversations that have not been requested.
    private var wanted: [ConversationID]
    /// The conversations that were found and still lack their trees.
    private var bare: [ConversationView] = []
    /// The results of look-ups. A view is used once; a missing view stays missing for the lifetime of this value.
    private var results: [ConversationID: LookUpResult] = [:]
    private var size = BatchSize()
    private var asked = Request.bare([])
    /// The maximum number of conversations in one request.
    private static let width = 100

    /// - Parameter ids: in the order of need. Other conversations are looked up one at a time when they are requested.
    init(of ids: [ConversationID]) {
        var seen: Set<ConversationID> = []
        wanted = ids.filter { seen.insert($0).inserted }
    }

    /// True if ``next(for:)`` needs no service call.
    func has(_ id: ConversationID) -> Bool { results[id] != nil }

    /// Returns the conversation as visible to the user at some time after this value was made, or else the request to
    /// send first.
    mutating func next(for id: ConversationID) -> Next {
        if let result = results[id] {
            if case .view = result { results[id] = nil }
            return .known(result)
        }
        // Discard unused views. Should one be needed after all, it is requested again.
        results = results.filter { if case .view = $0.value { false } else { true } }
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
            for id in ids.prefix(covered) where !seen.contains(id) { results[id] = .unseen }
            // Remove at least the conversation that is needed now. If it was not covered, it is requested alone.
            wanted.removeFirst(min(wanted.count, max(1, covered)))
            bare = views
        case (.trees(let all), .trees(let views)) where !views.isEmpty && views.count <= bare.count:
            size.adjust(received: views.count, requested: all.count)
            bare.removeFirst(views.count)
            for view in views { results[view.conversation.id] = .view(view) }
        case (.alone(let id), .alone(let view)): results[id] = .view(view)
        default: throw .unavailable
        }
    }

    /// Handles a failed request.
    /// - Throws: the failure, unless it concerns a single conversation.
    mutating func failed(_ failure: Failure) throws(Failure) {
        switch (asked, failure.code) {
        case (.trees, .internalServerError):
            // An answer holds at least the first conversation, so that is the one that cannot be sent.
            guard let first = bare.first else { throw failure }
            results[first.conversation.id] = .unshowable
            bare.removeFirst()
        case (.alone(let id), .notFound), (.alone(let id), .accessDenied): results[id] = .unseen
        case (.alone(let id), .internalServerError): results[id] = .unshowable
        default: throw failure
        }
    }
}
