// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf

/// The conversations service knows all of a conversation but its metadata tree; here the two are put together.
extension GatewayServices {
    /// Fills in the trees that are not loaded. A value composed of two sources has the lower position of the two (docs/architecture.md §6). What was
    /// written between the two reads is read once more, so that the two belong together.
    func completed(_ views: [ConversationView], for call: Call) async throws(Failure) -> [ConversationView] {
        let lacking = views.indices.filter { views[$0].conversation.metadata == nil }
        guard !lacking.isEmpty else { return views }
        let trees = try await trees(of: lacking.map { views[$0].conversation.id }, for: call)
        let completed = await composed(lacking.map { views[$0] }, with: trees, for: call)
        var views = views
        for (index, view) in zip(lacking, completed) { views[index] = view }
        return views
    }

    func composed(_ views: [ConversationView], with trees: [PlacedTree], for call: Call) async -> [ConversationView] {
        var views = views
        for (index, tree) in zip(views.indices, trees) {
            views[index].conversation.metadata = tree.tree
            guard views[index].isParticipant else { continue }
            if tree.position > views[index].conversation.position {
                if await isSame(tree, at: views[index], for: call) { continue }
                views[index] = await consistent(views[index], with: tree, for: call)
            } else {
                views[index].conversation.position = tree.position
            }
        }
        return views
    }

    /// Whether the tree, though read later than the conversation, is what it was then. The log tells, at the price of what has happened in between, and most of
    /// that is no patch: the tree itself may be a megabyte.
    private func isSame(_ tree: PlacedTree, at view: ConversationView, for call: Call) async -> Bool {
        let (id, position) = (view.conversation.id, view.conversation.position)
        guard let page = try? await readChanges(of: id, after: position, users: [], answers: call.answers) else { return false }
        for change in page.changes {
            if change.position > tree.position { return true }
            if case .metadataChanged = change.content { return false }
            // It may be another conversation that has the id now.
            if case .conversationDeleted = change.content { return false }
        }
        return page.changes.last.map { $0.position >= tree.position } ?? false
    }

    typealias PlacedTree = (tree: MetadataTree, position: Position)

    private func trees(of ids: [ConversationID], for call: Call) async throws(Failure) -> [PlacedTree] {
        var trees: [PlacedTree] = []
        while trees.count < ids.count { trees += try await someTrees(of: ids.dropFirst(trees.count), for: call) }
        return trees
    }

    /// The trees of as many of these, from the first on, as one answer should hold.
    func someTrees(of ids: some Collection<ConversationID>, for call: Call) async throws(Failure) -> [PlacedTree] {
        let request = ProtoTreesRequest.with {
            $0.appID = call.appData
            $0.items = ids.map { id in
                .with {
                    $0.conversationID = Data(id)
                    // Also for a participant: they may have been removed in between, and must not see what was set after that.
                    if !call.key.user.isAppServer { $0.formerUserID = call.user }
                }
            }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await metadata.call(MetadataAPI.trees, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
        guard answer.items.count <= ids.count, !answer.items.isEmpty else {
            throw Failure(.internalServerError, "The answer of a service could not be understood.")
        }
        return answer.items.map { (MetadataTree($0.tree), Position($0.position)) }
    }

    /// The conversation has changed between the two reads. A client that was given a newer tree than its position says would be told again what led
    /// there, and an old operation may not fit: a leaf has become a subtree. The two belong together if they have one position, or if the tree is
    /// the same before and after the conversation was read. In a conversation that never rests the last pair is as good as any.
    private func consistent(_ view: ConversationView, with tree: PlacedTree, for call: Call) async -> ConversationView {
        var (view, tree) = (view, tree)
        for _ in 0..<Self.compositionAttempts {
            do throws(Failure) {
                var again = try await bareConversation(view.conversation.id, for: call)
                // The packets after this user's position tell that the user left.
                guard again.isParticipant else { return view }
                if again.conversation.position != tree.position {
                    let newer = try await trees(of: [view.conversation.id], for: call)[0]
                    let isSettled = newer.position == again.conversation.position || newer.tree == tree.tree
                    tree = newer
                    again.conversation.metadata = newer.tree
                    view = again
                    if isSettled { return view }
                } else {
                    again.conversation.metadata = tree.tree
                    return again
                }
            } catch {
                return view
            }
        }
        return view
    }

    private static var compositionAttempts: Int { 4 }

    /// A conflict names the conversation that exists already: its tree, too, is filled in. Without it the refusal still stands.
    func completed(_ failure: Failure, for call: Call) async -> Failure {
        guard case .conversation(let view) = failure.detail else { return failure }
        var failure = failure
        do throws(Failure) {
            failure.detail = .conversation(try await completed([view], for: call)[0])
            return failure
        } catch {
            return error
        }
    }
}
