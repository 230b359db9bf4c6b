// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import NetKit
import Testing

@testable import Gateway

@Suite("requests on event loops", .timeLimit(.minutes(1)))
struct LongRequestsTests {
    /// A responder that answers where it runs.
    private struct Probe: HTTPResponder {
        typealias Context = RESTContext

        @concurrent
        func respond(to request: Request, context: RESTContext) async throws -> Response {
            let isOnLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
            return Response(status: isOnLoop ? .ok : .accepted)
        }
    }

    @Test(
        "only short patches, deletions, messages and receipts run on their connection's loop",
        arguments: [
            (.patch, "/conversations/1", "10", true), (.delete, "/messages/1", nil, true),
            (.post, "/conversations/1/messages", "16384", true), (.post, "/messages/1/receipts", "16", true),
            (.post, "/conversations/1/messages", "16385", false), (.post, "/conversations/1/messages", "many", false),
            (.post, "/conversations", "10", false), (.post, "/messages/1/parts", "10", false),
            (.get, "/conversations/1/messages", nil, false), (.put, "/content/uploads/1", "10", false),
        ] as [(HTTPRequest.Method, String, String?, Bool)])
    func place(_ method: HTTPRequest.Method, _ path: String, _ length: String?, _ isShort: Bool) async throws {
        var fields = HTTPFields()
        if let length { fields[.contentLength] = length }
        let request = Request(
            head: HTTPRequest(
                method: method, scheme: "https", authority: "chat.example.org", path: path, headerFields: fields),
            body: RequestBody(buffer: ByteBuffer()))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let context = RESTContext(
            source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: logger))
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let response = try await withTaskExecutorPreference(EventLoopExecutor(loop)) {
            try await LongRequests(inner: Probe()).respond(to: request, context: context)
        }
        #expect(response.status == (isShort ? .ok : .accepted))
    }
}
