// SPDX-License-Identifier: Apache-2.0
import DequeModule
import NIOHTTP1

/// What HTTP/1 demands of a connection beside the requests themselves: what is refused, what each answer says about the connection, and when it ends. Without
/// I/O; ``HTTPRules`` does what this decides.
///
/// Requests may come before those ahead of them are answered. A refusal waits for these answers, and what comes behind it is dropped.
struct HTTPExchange {
    /// Why a request is refused before any route sees it. The connection ends with that.
    enum Refusal: Equatable {
        /// What came is no HTTP.
        case malformed
        /// The head is longer, or has more fields, than ``ConnectionLimits/heads`` allows.
        case largeHead
        /// RFC 9112 §3.2: a request of HTTP/1.1 has one `Host`.
        case host
        /// `CONNECT`, after which the connection would not be HTTP any more.
        case method

        /// Of the parser's error.
        init(_ error: HTTPParserError) { self = error == .headerOverflow ? .largeHead : .malformed }
    }

    /// What to do with what came.
    enum Received: Equatable {
        case pass
        /// Answer this, and end.
        case refuse(Refusal)
        case drop
    }

    /// What to do after an answer.
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

    /// Those that are not answered yet, in the order in which they came.
    private var open: Deque<Request> = []
    /// To be said when the requests ahead of it are answered.
    private var refusal: Refusal?
    private var isOver = false

    /// Nothing more is taken, and nothing but what has been said is sent.
    var hasEnded: Bool { isOver }

    // MARK: What comes

    /// A request begins.
    /// - Parameter head: afterwards it says `Connection: close`, in these words, if the connection ends with the request.
    mutating func receivedHead(_ head: inout HTTPRequestHead) -> Received {
        guard !isOver, refusal == nil, open.last?.isKeptAlive != false else { return .drop }
        if let problem = Self.problem(head) { return refuse(problem) }
        // The parser reads nothing behind a request to upgrade, and keeps what comes. So the connection ends with this one.
        let isKeptAlive = head.isKeepAlive && !head.headers.contains(name: "Upgrade")
        if !isKeptAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        let expects = head.version.isModern && head.headers[canonicalForm: "Expect"].contains { $0.lowercased() == "100-continue" }
        open.append(Request(version: head.version, isKeptAlive: isKeptAlive, expectsContinue: expects))
        return .pass
    }

    /// Some of the body of the request that is being read.
    mutating func receivedBody() -> Received { receivedPart { $0.expectsContinue = false } }

    /// The request that is being read is complete.
    mutating func receivedEnd() -> Received {
        receivedPart {
            $0.expectsContinue = false
            $0.isComplete = true
        }
    }

    mutating func receivedParserError(_ error: HTTPParserError) -> Received {
        guard !isOver, refusal == nil else { return .drop }
        guard let last = open.indices.last, !open[last].isComplete else { return refuse(Refusal(error)) }
        // The body of this request is broken. Its answer may have begun, and is the last one then.
        if open[last].isAnswering {
            open[last].isKeptAlive = false
            return .drop
        }
        open.removeLast()
        return refuse(Refusal(error))
    }

    private mutating func receivedPart(_ change: (inout Request) -> Void) -> Received {
        // Of a request that was dropped, or whose answer was complete before it was.
        guard !isOver, refusal == nil, let last = open.indices.last, !open[last].isComplete else { return .drop }
        change(&open[last])
        return .pass
    }

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

    // MARK: What is answered

    /// The body is about to be read.
    /// - Returns: whether the client waits for the word that it may send it.
    mutating func bodyIsWanted() -> Bool {
        guard !isOver, let first = open.first, first.expectsContinue, !first.isAnswering else { return false }
        open[open.startIndex].expectsContinue = false
        return true
    }

    mutating func answering(_ head: HTTPResponseHead) -> HTTPResponseHead {
        guard !open.isEmpty else { return head }
        var head = head
        open[open.startIndex].isAnswering = true
        if head.headers[canonicalForm: "Connection"].contains(where: { $0.lowercased() == "close" }) { open[open.startIndex].isKeptAlive = false }
        if !open[open.startIndex].version.isModern {
            // It knows no chunks: an answer whose length is not told ends with the connection.
            head.version = .http1_0
            if !head.headers.contains(name: "Content-Length"), head.status.mayHaveResponseBody { open[open.startIndex].isKeptAlive = false }
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
    /// Whether it is 1.1, which brought `Host`, chunks, connections that stay, and upgrades.
    var isModern: Bool { (major, minor) >= (1, 1) }
}
