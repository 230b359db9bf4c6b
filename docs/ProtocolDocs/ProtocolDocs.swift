// SPDX-License-Identifier: Apache-2.0
import CProtocolDocs
import Crypto
import FoundationEssentials
public import NIOCore

/// The files that a gateway serves: the descriptions of the public protocol and the pages made from them under `/docs/`,
/// the JavaScript client under `/client/`, and the demo page under `/demo/`.
///
/// CProtocolDocs takes the files into the program when it is compiled: a served file can never be of another version
/// than the program.
public enum ProtocolDocs {
    /// One file to serve.
    public struct File: Sendable {
        /// The file as it is in the repository. Answers share these bytes.
        public let bytes: ByteBuffer
        /// The value of `Content-Type`.
        public let contentType: String
        /// The value of `ETag`, with its quotes: changes exactly when the content does.
        public let entityTag: String
        /// The source that a `Content-Security-Policy` names so that a browser carries out the script in the page, and
        /// no other; nil: the page has none.
        public let scriptSource: String?
        /// The content compressed by gzip, for clients that accept it; nil: the file is sent as it is only.
        public fileprivate(set) var compressed: ByteBuffer?

        init(_ document: StrataDocument, contentType: String) {
            let bytes = document.buffer
            self.bytes = ByteBuffer(bytes: bytes)
            self.contentType = contentType
            var hash = SHA256()
            hash.update(bufferPointer: bytes)
            entityTag = "\"\(ByteBuffer(bytes: hash.finalize().prefix(8)).hexDump(format: .compact))\""
            let text = String(decoding: bytes, as: UTF8.self)
            if let start = text.firstRange(of: "<script>")?.upperBound,
                let end = text[start...].firstRange(of: "</script>")?.lowerBound
            {
                scriptSource = "'sha256-\(Data(SHA256.hash(data: Data(text[start..<end].utf8))).base64EncodedString())'"
            } else {
                scriptSource = nil
            }
        }
    }

    /// The page that describes both halves of the protocol.
    public static let index = File(strata_docs_index(), contentType: "text/html; charset=utf-8")
    /// The page that explains the ids of errors, each under its own anchor.
    public static let errors = File(strata_docs_errors(), contentType: "text/html; charset=utf-8")
    /// The REST half, as OpenAPI 3.1.
    public static let openAPI = File(strata_docs_openapi(), contentType: "application/yaml; charset=utf-8")
    /// The WebSocket half, as AsyncAPI 3.0.
    public static let asyncAPI = File(strata_docs_asyncapi(), contentType: "application/yaml; charset=utf-8")
    /// The Server API, as OpenAPI 3.1.
    public static let serverOpenAPI = File(strata_docs_server_openapi(), contentType: "application/yaml; charset=utf-8")
    /// The modules of the JavaScript client, by name; `strata.js` or `strata.min.js` is the one to import. The latter has
    /// a compressed form.
    public static let client: [String: File] = {
        var client = files(strata_client_files())
        client["strata.min.js"]?.compressed = ByteBuffer(bytes: strata_client_min_gz().buffer)
        return client
    }()
    /// The files of the demo page, by name.
    public static let demo = files(strata_demo_files())

    private static func files(_ folder: StrataFiles) -> [String: File] {
        var files: [String: File] = [:]
        for file in UnsafeBufferPointer(start: folder.files, count: folder.count) {
            let name = String(cString: file.name)
            files[name] = File(file.document, contentType: contentType(of: name))
        }
        return files
    }

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        default: "text/html; charset=utf-8"
        }
    }
}

extension StrataDocument {
    fileprivate var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes, count: count) }
}
