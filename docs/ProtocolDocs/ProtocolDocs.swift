// SPDX-License-Identifier: Apache-2.0

/// The descriptions of the public protocol and the pages made from them, as the gateway serves them under `/docs/`.
///
/// The texts are string literals in `ProtocolDocs+Files.swift`, which `scripts/docs.py` makes: served files can never be another version than the program.
public enum ProtocolDocs {
    /// One file to serve.
    public struct File: Sendable {
        /// UTF-8, in the memory of the program itself.
        private let text: StaticString
        /// The value of `Content-Type`.
        public let contentType: String
        /// The value of `ETag`, with its quotes: changes exactly when the content does.
        public let entityTag: String

        init(_ text: StaticString, contentType: String, entityTag: String) {
            self.text = text
            self.contentType = contentType
            self.entityTag = entityTag
        }

        /// How many bytes there are.
        public var count: Int { text.utf8CodeUnitCount }

        /// The bytes, valid as long as `body` runs and longer: nothing ever frees them.
        public func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
            body(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
    }

    /// The page that describes both halves of the protocol.
    public static var index: File { indexFile }
    /// The page that explains the ids of errors, each under its own anchor.
    public static var errors: File { errorsFile }
    /// The REST half, as OpenAPI 3.1.
    public static var openAPI: File { openAPIFile }
    /// The WebSocket half, as AsyncAPI 3.0.
    public static var asyncAPI: File { asyncAPIFile }
}
