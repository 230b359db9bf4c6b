// SPDX-License-Identifier: Apache-2.0

import Model
import ProtocolDocs
import Testing

@Suite("the page of errors")
struct ErrorDocsTests {
    @Test("every error has its entry, with its status and code", arguments: Failure.Code.allCases)
    func entries(_ code: Failure.Code) {
        let page = ProtocolDocs.errors.withBytes { String(decoding: $0, as: UTF8.self) }
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
