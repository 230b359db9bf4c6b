// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf

/// Composition of conversations. The conversations service knows everything about a conversation except its metadata
/// tree, which the metadata service provides.
extension GatewayServices {
    /// Fills in missing metadata trees. A value composed of two sources has the lower of their positions
    /// (docs/architecture.md §6). If one source was written between the two reads, it is read again, so that both are
    /// consistent.
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

    /// True if the tree, although it was read later than the conversation, has not changed in between. The log shows
    /// this at the cost of the changes in between, few of which are patches. The tree itself can be a megabyte.
    private func isSame(_ tree: PlacedTree, at view: ConversationView, for call: Call) async -> Bool {
        let (id, position) = (view.conversation.id, view.conversation.position)
        guard let page = try? await readChanges(of: id, after: position, users: [], answers: call.answers) else {
            return false
        }
        for change in page.changes {
            if change.position > tree.position { return true }
            if case .metadataChanged = change.content { return false }
            // The id may belong to another conversation now.
            if case .conversationDeleted = change.content { return false }
        }
        return page.changes.last.map { $0.position >= tree.position } ?? false
    }

    typealias PlacedTree = (tree: MetadataTree, position: Position)

    private func trees(of ids: [ConversationID], for call: Call) async throws(Failure) -> [PlacedTree] {
        var trees: [PlacedTree] = []
        while trees.count < ids.count { trees += try await treeBatch(of: ids.dropFirst(trees.count), for: call) }
        return trees
    }

    /// Returns the trees of as many conversations as fit into one answer, from the first on.
    func treeBatch(of ids: some Collection<ConversationID>, for call: Call) async throws(Failure) -> [PlacedTree] {
        let request = ProtoTreesRequest.with {
            $0.appID = call.appData
            $0.items = ids.map { id in
                .with {
                    $0.conversationID = Data(id)
                    // The user is named even for a participant, who may have been removed in between and must not see
                    // later values.
                    if !call.key.user.isAppServer { $0.formerUserID = call.user }
                }
            }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await metadata.call(
            MetadataAPI.trees, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
        guard answer.items.count <= ids.count, !answer.items.isEmpty else {
            throw Failure(.internalServerError, "The answer of a service could not be understood.")
        }
        return answer.items.map { (MetadataTree($0.tree), Position($0.position)) }
    }

    /// Returns a conversation and a tree that belong together, after the conversation changed between the two reads.
    /// With a tree newer than its position, a client would be sent older operations again. Such an operation may not
    /// fit, for example because a leaf has become a subtree.
    ///
    /// The two belong together if they have the same position, or if the tree is the same before and after the
    /// conversation was read. In a conversation that keeps changing, the last pair is returned.
    private func consistent(_ view: ConversationView, with tree: PlacedTree, for call: Call) async -> ConversationView {
        var (view, tree) = (view, tree)
        for _ in 0..<Self.compositionAttempts {
            do throws(Failure) {
                var again = try await bareConversation(view.conversation.id, for: call)
                // The packets after this user's position include the user's removal.
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

    /// Returns the failure with the metadata tree of the existing conversation that a conflict names. If the tree
    /// cannot be fetched, the failure of that call is returned.
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
