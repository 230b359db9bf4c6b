// SPDX-License-Identifier: Apache-2.0
import NIOHTTP1
import Testing

@testable import FanOut
@testable import Gateway

@Suite("the rules of an HTTP connection")
struct HTTPExchangeTests {
    private func head(
        _ headers: HTTPHeaders = ["Host": "x"], version: HTTPVersion = .http1_1, method: HTTPMethod = .GET
    ) -> HTTPRequestHead {
        HTTPRequestHead(version: version, method: method, uri: "/", headers: headers)
    }

    private func answer(
        _ status: HTTPResponseStatus = .ok, _ headers: HTTPHeaders = ["Content-Length": "0"]
    ) -> HTTPResponseHead {
        HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    }

    @Test("an HTTP/1.1 request requires exactly one Host; an HTTP/1.0 request may omit it")
    func hosts() {
        let two: HTTPHeaders = ["Host": "x", "host": "x"]
        for (request, expected) in [
            (head([:]), HTTPExchange.Received.refuse(.host)), (head(two), .refuse(.host)), (head(), .pass),
            (head([:], version: .http1_0), .pass),
            (head(two, version: .http1_0), .refuse(.host)), (head(method: .CONNECT), .refuse(.method)),
        ] {
            var (exchange, request) = (HTTPExchange(), request)
            #expect(exchange.receivedHead(&request) == expected, "\(request)")
            #expect(exchange.hasEnded == (expected != .pass))
        }
    }

    @Test("an answer states whether the connection stays open, and the connection complies")
    func keepAlive() {
        let cases: [(HTTPVersion, HTTPHeaders, HTTPHeaders, String?, HTTPExchange.Answered)] = [
            (.http1_1, ["Host": "x"], ["Content-Length": "0"], nil, .go),
            (.http1_1, ["Host": "x", "Connection": "Close"], ["Content-Length": "0"], "close", .end),
            (.http1_1, ["Host": "x", "Connection": "te, close"], ["Content-Length": "0"], "close", .end),
            (.http1_1, ["Host": "x"], ["Content-Length": "0", "Connection": "close"], "close", .end),
            (
                .http1_1, ["Host": "x", "Connection": "Upgrade", "Upgrade": "h2c"], ["Content-Length": "0"], "close",
                .end
            ),
            (.http1_0, [:], ["Content-Length": "0"], "close", .end),
            (.http1_0, ["Connection": "keep-alive"], ["Content-Length": "0"], "keep-alive", .go),
            // An answer of unknown length is ended by closing the connection.
            (.http1_0, ["Connection": "keep-alive"], [:], "close", .end),
        ]
        for (version, sent, answered, says, then) in cases {
            var (exchange, request) = (HTTPExchange(), head(sent, version: version))
            #expect(exchange.receivedHead(&request) == .pass)
            if !HTTPRequestHead(version: version, method: .GET, uri: "/", headers: sent).isKeepAlive {
                #expect(request.headers["Connection"] == ["close"])
            }
            #expect(exchange.receivedEnd() == .pass)
            let shown = exchange.answering(answer(.ok, answered))
            #expect(shown.headers.first(name: "Connection") == says, "\(sent)")
            #expect(shown.version == version)
            #expect(exchange.answered() == then, "\(sent)")
        }
    }

    @Test("a client that expects 100 Continue receives it once, when the body is wanted")
    func expectation() {
        var (exchange, request) = (
            HTTPExchange(), head(["Host": "x", "Expect": "100-Continue", "Content-Length": "1"], method: .POST)
        )
        #expect(exchange.receivedHead(&request) == .pass)
        #expect(exchange.bodyIsWanted() == true)
        #expect(exchange.bodyIsWanted() == false)

        exchange = HTTPExchange()
        #expect(exchange.receivedHead(&request) == .pass)
        // The client did not wait.
        #expect(exchange.receivedBody() == .pass)
        #expect(exchange.bodyIsWanted() == false)

        exchange = HTTPExchange()
        #expect(exchange.receivedHead(&request) == .pass)
        _ = exchange.answering(answer(.unauthorized))
        #expect(exchange.bodyIsWanted() == false)

        exchange = HTTPExchange()
        var old = head(["Expect": "100-continue", "Content-Length": "1"], version: .http1_0, method: .POST)
        #expect(exchange.receivedHead(&old) == .pass)
        #expect(exchange.bodyIsWanted() == false)
    }

    @Test("malformed HTTP is refused after earlier requests are answered, and later bytes are ignored")
    func malformed() {
        var (exchange, request) = (HTTPExchange(), head())
        #expect(exchange.receivedHead(&request) == .pass)
        #expect(exchange.receivedEnd() == .pass)
        #expect(exchange.receivedParserError(HTTPParserError.headerOverflow) == .drop)
        #expect(exchange.receivedParserError(HTTPParserError.invalidMethod) == .drop)
        #expect(exchange.receivedHead(&request) == .drop)
        #expect(exchange.receivedBody() == .drop)
        _ = exchange.answering(answer())
        #expect(exchange.answered() == .refuse(.largeHead))
        #expect(exchange.hasEnded)

        exchange = HTTPExchange()
        #expect(exchange.receivedParserError(HTTPParserError.invalidMethod) == .refuse(.malformed))
    }

    @Test("a malformed body is refused at once, unless its answer has begun; that answer is the last one then")
    func brokenBody() {
        var (exchange, request) = (HTTPExchange(), head(method: .POST))
        #expect(exchange.receivedHead(&request) == .pass)
        #expect(exchange.receivedParserError(HTTPParserError.invalidChunkSize) == .refuse(.malformed))
        #expect(exchange.receivedEnd() == .drop)

        exchange = HTTPExchange()
        #expect(exchange.receivedHead(&request) == .pass)
        _ = exchange.answering(answer())
        #expect(exchange.receivedParserError(HTTPParserError.invalidChunkSize) == .drop)
        #expect(exchange.answered() == .end)
    }

    @Test("bytes after a request that ends the connection are ignored")
    func behindTheLast() {
        var (exchange, last, next) = (HTTPExchange(), head(["Host": "x", "Connection": "close"]), head())
        #expect(exchange.receivedHead(&last) == .pass)
        #expect(exchange.receivedEnd() == .pass)
        #expect(exchange.receivedHead(&next) == .drop)
        #expect(exchange.receivedEnd() == .drop)
        _ = exchange.answering(answer())
        #expect(exchange.answered() == .end)
    }
}
