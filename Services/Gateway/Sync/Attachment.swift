// SPDX-License-Identifier: Apache-2.0
package import FanOut
import FoundationEssentials
package import StrataModel

/// What a catch-up needs of the socket that it attaches. All of it is called on the loop of the socket's registry.
package protocol AttachableSocket: RegisteredSocket {
    var registry: LoopRegistry { get }
    /// Joins a conversation where its reading ended.
    /// - Returns: false if the loop has seen changes that the reading has not.
    func attach(at point: JoinPoint) -> Bool
    /// The same for the user's own log.
    func attachUser(position: Position, fanOutLast: Position) -> Bool
    /// The catch-up reads these once more, and attaches them later.
    func willAttach(_ conversations: Set<ConversationID>)
    /// The counts a catch-up changed, told once, when it has ended.
    func sendSummary(_ summary: ReplayPlan.Summary)
}

/// The end of a catch-up, in one turn of the socket's loop: the fan-out goes on where the reading ended.
package struct Attachment: Sendable {
    /// What could not be attached, since it has moved on: it has to be read again.
    package struct Refusal: Sendable {
        /// The user's own log has moved on, so that nothing could be attached.
        let isUserRefused: Bool
        let conversations: [ConversationID]
        var isEmpty: Bool { conversations.isEmpty && !isUserRefused }
    }

    private let joinPoints: [JoinPoint]
    /// Nil: the user's own log is none of this catch-up's business, or is attached already.
    private let user: (position: Position, fanOutLast: Position)?
    private let leaveRecords: [(id: ConversationID, record: LeaveRecord)]
    private let summaries: [ConversationID: ReplayPlan.Summary]

    init(_ plan: ReplayPlan) {
        joinPoints = plan.joinPoints
        user = plan.userPosition.map { ($0, plan.userFanOutLast) }
        leaveRecords = plan.leaveRecords.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
        summaries = plan.summaries
    }

    /// On the loop. The user's own log first: whatever it tells from then on waits for the conversation that it concerns.
    package func perform(on socket: some AttachableSocket) -> Refusal {
        for (id, record) in leaveRecords { socket.membershipChanged(.left(id, record)) }
        // What the user did meanwhile may concern these conversations.
        if let user, !socket.attachUser(position: user.position, fanOutLast: user.fanOutLast) {
            return Refusal(isUserRefused: true, conversations: joinPoints.map(\.id))
        }
        var refused: [ConversationID] = []
        for (id, _) in leaveRecords { if let summary = summaries[id] { socket.sendSummary(summary) } }
        for point in joinPoints {
            guard socket.attach(at: point) else {
                refused.append(point.id)
                continue
            }
            if let summary = summaries[point.id] { socket.sendSummary(summary) }
        }
        socket.willAttach(Set(refused))
        socket.registry.flushDeferred()
        return Refusal(isUserRefused: false, conversations: refused)
    }
}
