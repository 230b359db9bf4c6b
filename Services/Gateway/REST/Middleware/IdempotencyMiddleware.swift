// SPDX-License-Identifier: Apache-2.0
import Crypto
import FanOut
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import StrataModel

/// A middleware for idempotent changes. The `Strata-Mutation` header carries an idempotency key, and a repetition
/// receives the first answer.
struct IdempotencyMiddleware: RESTMiddleware {
    let errors: ErrorObjects

    @concurrent
    func handle(_ request: Request, context: RESTContext, next: Next) async throws -> Response {
        guard let text = request.headers[.strataMutation], request.method != .get, request.method != .head else {
            return try await next(request, context)
        }
        var (request, context) = (request, context)
        do throws(Failure) {
            guard let id = UUID(uuidString: text) else {
                throw Failure(
                    .invalidHeader, "The Strata-Mutation header must be a UUID.", detail: .header("Strata-Mutation"))
            }
            let body = try await request.collectedBody(context)
            request.body = HummingbirdCore.RequestBody(buffer: body)
            context.idempotencyKey = IdempotencyKey(id: id, fingerprint: Self.fingerprint(of: request, body))
        } catch {
            throw errors.failed(error, in: context)
        }
        return try await next(request, context)
    }

    /// Returns a hash of the method, the path with its query, and the body.
    private static func fingerprint(of request: Request, _ body: ByteBuffer) -> UInt64 {
        var hash = SHA256()
        hash.update(data: Array("\(request.method.rawValue) \(request.uri.string)\n".utf8))
        hash.update(data: Array(body.readableBytesView))
        return hash.finalize().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension IdempotencyKey {
    /// Returns an id for an object that the change creates. A repetition creates the same id.
    /// - Parameter text: identifies the object within the change.
    func derivedID(by user: UserKey, _ text: String) -> UUID {
        var hash = SHA256()
        hash.update(data: Array("\(user.app) \(user.user.rawValue) \(id) \(fingerprint) \(text)".utf8))
        return hash.finalize().madeUUID
    }
}

extension HTTPField.Name {
    fileprivate static let strataMutation = Self("Strata-Mutation")!
}
