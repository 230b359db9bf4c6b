// SPDX-License-Identifier: Apache-2.0
import Crypto
import FanOut
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import StrataModel

/// Changes that a client may repeat: the `Strata-Mutation` header gives one a name, and a repetition is answered as the first time.
struct NamedChangeMiddleware: RESTMiddleware {
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        guard let text = request.headers[.strataMutation], request.method != .get, request.method != .head else {
            return try await next(request, context)
        }
        var (request, context) = (request, context)
        do throws(Failure) {
            guard let id = UUID(uuidString: text) else {
                throw Failure(.invalidHeader, "The Strata-Mutation header must be a UUID.", detail: .header("Strata-Mutation"))
            }
            let body = try await request.collectedBody(context)
            request.body = HummingbirdCore.RequestBody(buffer: body)
            context.mutation = Mutation(id: id, fingerprint: Self.fingerprint(of: request, body))
        } catch {
            throw errors.failed(error, in: context)
        }
        return try await next(request, context)
    }

    /// Of all that says what is to be done: the method, the path with its parameters, and the body.
    private static func fingerprint(of request: Request, _ body: ByteBuffer) -> UInt64 {
        var hash = SHA256()
        hash.update(data: Array("\(request.method.rawValue) \(request.uri.string)\n".utf8))
        hash.update(data: Array(body.readableBytesView))
        return hash.finalize().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension Mutation {
    /// An id for what the change makes, so that a repetition makes the same.
    /// - Parameter text: what is made.
    func madeID(by user: UserKey, _ text: String) -> UUID {
        var hash = SHA256()
        hash.update(data: Array("\(user.app) \(user.user.rawValue) \(id) \(fingerprint) \(text)".utf8))
        return hash.finalize().madeUUID
    }
}

extension HTTPField.Name {
    fileprivate static let strataMutation = Self("Strata-Mutation")!
}
