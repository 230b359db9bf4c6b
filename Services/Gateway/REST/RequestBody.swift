// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Model

/// What of a JSON body is refused before it is read.
enum RequestBody {
    static let tooLarge = Failure(.invalidRequest, "The body is larger than \(RESTRouter.bodyBytes) bytes.")
    /// Who could send a small body that becomes a large one could make this process run out of memory.
    static let isEncoded = Failure(.invalidRequest, "A body must not be compressed, or encoded in another way.")

    /// - Throws: ``tooLarge`` or ``isEncoded``, by what the head says.
    static func check(_ headers: HTTPFields) throws(Failure) {
        if let length = headers[.contentLength], Int(length).map({ $0 > RESTRouter.bodyBytes }) ?? true { throw tooLarge }
        let encodings = headers[values: .contentEncoding].flatMap { $0.split(separator: ",") }
        guard encodings.allSatisfy({ $0.filter { $0 != " " }.lowercased() == "identity" }) else { throw isEncoded }
    }

    /// For these two HTTP has a word of its own; the error object is the protocol's.
    static func status(of failure: Failure) -> HTTPResponse.Status {
        switch failure {
        case tooLarge: .contentTooLarge
        case isEncoded: .unsupportedMediaType
        default: HTTPResponse.Status(code: failure.code.status)
        }
    }
}
