// SPDX-License-Identifier: Apache-2.0
package import FanOut
import FoundationEssentials
package import StrataModel

/// A socket that a catch-up can attach. All members are called on the loop of the socket's registry.
package protocol AttachableSocket: RegisteredSocket {
    var registry: LoopRegistry { get }
    /// Joins a conversation at the position where its reading ended.
    /// - Returns: false if the loop has received changes that have not been read.
    func attach(at point: JoinPoint) -> Bool
    /// Joins the user's own log at the position where its reading ended.
    /// - Returns: false if the loop has received entries that have not been read.
    func attachUser(position: Position, fanOutLast: Position) -> Bool
    /// Announces conversations that the catch-up reads again and attaches later.
    func willAttach(_ conversations: Set<ConversationID>)
    /// Sends the counts that a catch-up changed. Called once, at its end.
    func sendSummary(_ summary: ReplayPlan.Summary)
}

/// The final step of a catch-up, in one turn of the socket's loop. The fan-out continues where the reading ended.
package struct Attachment: Sendable {
    /// The logs that could not be attached because they have moved on. They have to be read again.
    package struct Refusal: Sendable {
        /// True if the user's own log has moved on, so that nothing could be attached.
        let isUserRefused: Bool
        let conversations: [ConversationID]
        var isEmpty: Bool { conversations.isEmpty && !isUserRefused }
    }

    private let joinPoints: [JoinPoint]
    /// The position in the user's own log. Nil if the catch-up does not read that log, or if it is attached already.
    private let user: (position: Position, fanOutLast: Position)?
    private let leaveRecords: [(id: ConversationID, record: LeaveRecord)]
    private let summaries: [ConversationID: ReplayPlan.Summary]

    init(_ plan: ReplayPlan) {
        joinPoints = plan.joinPoints
        user = plan.userPosition.map { ($0, plan.userFanOutLast) }
        leaveRecords = plan.leaveRecords.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
        summaries = plan.summaries
    }

    /// Attaches the socket. Must be called on its loop. The user's own log comes first: its entries then wait for the
    /// conversations that they concern.
    package func perform(on socket: some AttachableSocket) -> Refusal {
        for (id, record) in leaveRecords { socket.membershipChanged(.left(id, record)) }
        // The new entries of the user's own log may concern these conversations.
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
