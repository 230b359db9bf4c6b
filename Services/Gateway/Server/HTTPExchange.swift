// SPDX-License-Identifier: Apache-2.0
import DequeModule
import NIOHTTP1

/// The connection-level rules of HTTP/1: which requests are refused, the `Connection` header of each response, and when
/// the connection ends. A plain value without I/O; ``HTTPRules`` acts on its decisions.
///
/// Requests can arrive before earlier ones are answered (pipelining). A refusal is sent after these answers, and all
/// later input is dropped.
struct HTTPExchange {
    /// The reason for refusing a request before routing. A refusal ends the connection.
    enum Refusal: Equatable {
        case malformed
        /// The head exceeds the length or the number of fields in ``ConnectionLimits/heads``.
        case largeHead
        /// The request does not have exactly one `Host` header, as HTTP/1.1 requires (RFC 9112 §3.2).
        case host
        /// The method is `CONNECT`, after which the connection would not be HTTP.
        case method

        init(_ error: HTTPParserError) { self = error == .headerOverflow ? .largeHead : .malformed }
    }

    /// The action for received input.
    enum Received: Equatable {
        case pass
        /// Send this refusal and end the connection.
        case refuse(Refusal)
        case drop
    }

    /// The action after a response.
    enum Answered: Equatable {
        case go
        case end
        case refuse(Refusal)
    }

    private struct Request {
        let version: HTTPVersion
        var isKeptAlive: Bool
        var expectsContinue: Bool
        var isComplete = false
        var isAnswering = false
    }

    /// The unanswered requests, in order of arrival.
    private var open: Deque<Request> = []
    /// The refusal to send once all earlier requests are answered.
    private var refusal: Refusal?
    private var isOver = false

    /// True after the last response or refusal. Further input is dropped, and further output is discarded.
    var hasEnded: Bool { isOver }

    // MARK: Input

    /// Handles the head of a request.
    /// - Parameter head: receives `Connection: close`, in this spelling, if the connection ends with the request.
    mutating func receivedHead(_ head: inout HTTPRequestHead) -> Received {
        guard !isOver, refusal == nil, open.last?.isKeptAlive != false else { return .drop }
        if let problem = Self.problem(head) { return refuse(problem) }
        // The parser keeps all input after an upgrade request unread, so the connection ends with this request.
        let isKeptAlive = head.isKeepAlive && !head.headers.contains(name: "Upgrade")
        if !isKeptAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        let expects =
            head.version.isModern
            && head.headers[canonicalForm: "Expect"].contains { $0.lowercased() == "100-continue" }
        open.append(Request(version: head.version, isKeptAlive: isKeptAlive, expectsContinue: expects))
        return .pass
    }

    mutating func receivedBody() -> Received { receivedPart { $0.expectsContinue = false } }

    mutating func receivedEnd() -> Received {
        receivedPart {
            $0.expectsContinue = false
            $0.isComplete = true
        }
    }

    mutating func receivedParserError(_ error: HTTPParserError) -> Received {
        guard !isOver, refusal == nil else { return .drop }
        guard let last = open.indices.last, !open[last].isComplete else { return refuse(Refusal(error)) }
        // The body of this request is malformed. If its answer has begun, it is the last one.
        if open[last].isAnswering {
            open[last].isKeptAlive = false
            return .drop
        }
        open.removeLast()
        return refuse(Refusal(error))
    }

    private mutating func receivedPart(_ change: (inout Request) -> Void) -> Received {
        // The part belongs to a dropped request, or to one whose answer ended before the request did.
        guard !isOver, refusal == nil, let last = open.indices.last, !open[last].isComplete else { return .drop }
        change(&open[last])
        return .pass
    }

    /// Refuses now, or after the answers to earlier requests.
    private mutating func refuse(_ problem: Refusal) -> Received {
        guard open.isEmpty else {
            refusal = problem
            return .drop
        }
        isOver = true
        return .refuse(problem)
    }

    private static func problem(_ head: HTTPRequestHead) -> Refusal? {
        let hosts = head.headers["Host"].count
        if hosts > 1 || (hosts == 0 && head.version.isModern) { return .host }
        return head.method == .CONNECT ? .method : nil
    }

    // MARK: Output

    /// Handles the start of reading a body.
    /// - Returns: true if the client waits for `100 Continue`.
    mutating func bodyIsWanted() -> Bool {
        guard !isOver, let first = open.first, first.expectsContinue, !first.isAnswering else { return false }
        open[open.startIndex].expectsContinue = false
        return true
    }

    mutating func answering(_ head: HTTPResponseHead) -> HTTPResponseHead {
        guard !open.isEmpty else { return head }
        var head = head
        open[open.startIndex].isAnswering = true
        if head.headers[canonicalForm: "Connection"].contains(where: { $0.lowercased() == "close" }) {
            open[open.startIndex].isKeptAlive = false
        }
        if !open[open.startIndex].version.isModern {
            // HTTP/1.0 has no chunked encoding: the end of the connection marks the end of a response without a length.
            head.version = .http1_0
            if !head.headers.contains(name: "Content-Length"), head.status.mayHaveResponseBody {
                open[open.startIndex].isKeptAlive = false
            }
            if open[open.startIndex].isKeptAlive { head.headers.replaceOrAdd(name: "Connection", value: "keep-alive") }
        }
        if !open[open.startIndex].isKeptAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        return head
    }

    mutating func answered() -> Answered {
        guard !isOver, let request = open.popFirst() else { return .go }
        if !request.isKeptAlive {
            isOver = true
            return .end
        }
        guard let problem = refusal, open.isEmpty else { return .go }
        isOver = true
        return .refuse(problem)
    }
}

extension HTTPVersion {
    /// True from HTTP/1.1 on, which introduced `Host`, chunked encoding, persistent connections, and upgrades.
    var isModern: Bool { (major, minor) >= (1, 1) }
}
