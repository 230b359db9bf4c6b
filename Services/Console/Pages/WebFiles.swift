// SPDX-License-Identifier: Apache-2.0
import CConsoleWeb
import Crypto
import NIOCore

/// The files that browsers load. CConsoleWeb takes them into the program when it is compiled.
enum WebFiles {
    struct File: Sendable {
        /// The content. Answers share these bytes.
        let bytes: ByteBuffer
        /// The value of `Content-Type`.
        let contentType: String
        /// The value of `ETag`, with its quotes: changes exactly when the content does.
        let entityTag: String
    }

    /// The files by their paths below `Web`.
    static let all: [String: File] = {
        let folder = console_files()
        var files: [String: File] = [:]
        for file in UnsafeBufferPointer(start: folder.files, count: folder.count) {
            let (name, bytes) = (String(cString: file.name), ByteBuffer(string: String(cString: file.text)))
            let digest = SHA256.hash(data: Array(bytes.readableBytesView))
            files[name] = File(
                bytes: bytes, contentType: contentType(of: name),
                entityTag: "\"\(ByteBuffer(bytes: digest.prefix(8)).hexDump(format: .compact))\"")
        }
        return files
    }()

    /// Returns the file for a path below `/console/`. A path without an extension is a screen of the page, so it is
    /// answered with the page.
    static func file(at path: String) -> File? {
        if let file = all[path] { return file }
        let isScreen = !(path.split(separator: "/").last ?? "").contains(".")
        return isScreen ? all["index.html"] : nil
    }

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json": "application/json; charset=utf-8"
        case "svg": "image/svg+xml"
        case "html": "text/html; charset=utf-8"
        default: "text/plain; charset=utf-8"
        }
    }
}
