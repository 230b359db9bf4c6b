// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import NIOCore
import ProtocolDocs
import StrataModel
import Testing

@Suite("the documents that gateways serve")
struct ProtocolDocsTests {
    @Test(
        "each document equals the file in the repository, byte for byte",
        arguments: [
            ("index.html", ProtocolDocs.index), ("errors.html", ProtocolDocs.errors),
            ("openapi.yaml", ProtocolDocs.openAPI),
            ("asyncapi.yaml", ProtocolDocs.asyncAPI), ("server-openapi.yaml", ProtocolDocs.serverOpenAPI),
        ])
    func bytes(_ name: String, _ file: ProtocolDocs.File) throws {
        let docs = URL(filePath: #filePath).appending(path: "../../../docs").standardizedFileURL
        let committed = try Data(contentsOf: docs.appending(path: name))
        #expect(Array(file.bytes.readableBytesView) == Array(committed))
        #expect(
            file.entityTag
                == "\"\(SHA256.hash(data: committed).prefix(8).map { String(format: "%02x", $0) }.joined())\"")
    }

    @Test("every module of the JavaScript client and every file of the demo page is served, byte for byte")
    func folders() throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
        for (folder, files, suffixes) in [
            ("Clients/JavaScript", ProtocolDocs.client, ["js"]), ("Examples/Demo", ProtocolDocs.demo, ["html", "css", "js"]),
        ] {
            let names = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
                .filter { name in suffixes.contains { name.hasSuffix(".\($0)") } && !name.hasSuffix(".test.js") }
            #expect(Set(files.keys) == Set(names))
            for (name, file) in files {
                let committed = try Data(contentsOf: root.appending(path: "\(folder)/\(name)"))
                #expect(Array(file.bytes.readableBytesView) == Array(committed), "\(name)")
            }
        }
    }

    @Test("every error has its entry, with its status and code", arguments: Failure.Code.allCases)
    func entries(_ code: Failure.Code) {
        let page = String(buffer: ProtocolDocs.errors.bytes)
        #expect(page.contains("id=\"\(code.id)\""))
        let entry = page.components(of: "<section class=\"error\" id=\"\(code.id)\">", to: "</section>")
        #expect(entry?.contains("HTTP status \(code.status) · code \(code.rawValue)<") == true)
    }
}

extension String {
    fileprivate func components(of start: String, to end: String) -> Substring? {
        guard let from = firstRange(of: start) else { return nil }
        return self[from.upperBound...].firstRange(of: end).map { self[from.upperBound..<$0.lowerBound] }
    }
}
