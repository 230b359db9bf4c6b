// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// Looks up the conversations that a catch-up has to send in full, in the order of need. It works in batches, so that
/// memory is bounded by one batch, for any number and size of conversations.
///
/// A value: it returns requests for the services and receives their answers.
package struct ViewLookups: Sendable {
    package enum Request: Sendable {
        /// Several conversations. The answer holds as many as fit, from the first on.
        case several([ConversationID])
        case alone(ConversationID)
    }

    package enum Answer: Sendable {
        /// The conversations that are visible to the user, out of the first `covered` requested ones. Those without
        /// metadata cannot be sent.
        case several([ConversationView], covered: Int)
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
    /// The results of look-ups. A view is used once; a missing view stays missing for the lifetime of this value.
    private var results: [ConversationID: LookUpResult] = [:]
    private var asked = Request.several([])
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
            asked = .several(Array(wanted.prefix(Self.width)))
        } else {
            asked = .alone(id)
        }
        return .ask(asked)
    }

    mutating func answered(_ answer: Answer) throws(Failure) {
        switch (asked, answer) {
        case (.several(let ids), .several(let views, let covered)):
            for id in ids.prefix(covered) { results[id] = .unseen }
            for view in views {
                results[view.conversation.id] = view.conversation.metadata == nil ? .unshowable : .view(view)
            }
            // Remove at least the conversation that is needed now. If it was not covered, it is requested alone.
            wanted.removeFirst(min(wanted.count, max(1, covered)))
        case (.alone(let id), .alone(let view)): results[id] = .view(view)
        default: throw .unavailable
        }
    }

    /// Handles a failed request.
    /// - Throws: the failure, unless it concerns a single conversation.
    mutating func failed(_ failure: Failure) throws(Failure) {
        switch (asked, failure.code) {
        case (.several, .internalServerError):
            // An answer holds at least the first conversation, so that is probably the one that cannot be sent. It is
            // requested alone.
            guard !wanted.isEmpty else { throw failure }
            wanted.removeFirst()
        case (.alone(let id), .notFound), (.alone(let id), .accessDenied): results[id] = .unseen
        case (.alone(let id), .internalServerError): results[id] = .unshowable
        default: throw failure
        }
    }
}
