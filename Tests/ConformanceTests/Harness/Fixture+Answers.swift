// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Checks of the form of answers (docs/conformance.md §1.5, §1.11).
extension Fixture {
    /// The codes and HTTP statuses of errors, by id.
    static let errors: [String: (code: Int, status: Int)] = [
        "service_unavailable": (1, 503), "invalid_app_id": (2, 403), "invalid_request_id": (3, 400),
        "authentication_required": (4, 401),
        "app_suspended": (5, 403), "user_suspended": (6, 403), "rate_limit_exceeded": (7, 429),
        "request_timeout": (8, 408),
        "invalid_operation": (9, 422), "invalid_request": (10, 400), "internal_server_error": (100, 500),
        "access_denied": (101, 403),
        "not_found": (102, 404), "missing_property": (104, 422), "invalid_property": (105, 422),
        "invalid_endpoint": (106, 404),
        "invalid_header": (107, 406), "conflict": (108, 409), "method_not_allowed": (109, 405), "id_in_use": (111, 409),
        "predecessor_failed": (112, 424),
    ]

    /// Expects a success with this status, and JSON if there is a body.
    func succeeded(_ answer: RESTResponse, _ status: Int, line: UInt = #line) {
        guard answer.status == status else {
            return fail("status \(answer.status) \(answer.json), not \(status)", line: line)
        }
        if answer.body.isEmpty { return }
        check(isJSON(answer), "Content-Type \(answer.header("Content-Type") ?? "none")", line: line)
        check(status != 204, "204 with a body", line: line)
    }

    /// Expects a complete error object with this id.
    /// - Parameter needsData: False if `data` may be missing, as in some errors of the Server API.
    func refused(
        _ answer: RESTResponse, _ id: String, property: String? = nil, header: String? = nil, needsData: Bool = true,
        line: UInt = #line
    ) {
        let expected = Self.errors[id]
        guard answer.status == expected?.status, answer.errorID == id else {
            return fail("\(answer.status) \(answer.json), not \(expected?.status ?? 0) \(id)", line: line)
        }
        check(isJSON(answer), "Content-Type \(answer.header("Content-Type") ?? "none")", line: line)
        refused(answer.json, id, property: property, header: header, needsData: needsData, line: line)
    }

    func refused(_ answer: SocketResponse, _ id: String, property: String? = nil, line: UInt = #line) {
        guard answer.errorID == id else { return fail("\(answer.packet.body), not \(id)", line: line) }
        refused(answer.data, id, property: property, header: nil, needsData: true, line: line)
    }

    private func refused(
        _ error: JSONValue, _ id: String, property: String?, header: String?, needsData: Bool, line: UInt
    ) {
        equal(error["code"].int, Self.errors[id]?.code, "code", line: line)
        check(error["message"].string?.isEmpty == false, "no message", line: line)
        check(error["url"].string?.hasPrefix("https://") == true, "url \(error["url"])", line: line)
        let isAbsent = error.object?["data"] == nil
        check(error["data"].object != nil || isAbsent && !needsData, "data is \(error["data"])", line: line)
        if let property { equal(error["data"]["property"].string, property, "data.property", line: line) }
        if let header {
            equal(error["data"]["header"].string?.lowercased(), header.lowercased(), "data.header", line: line)
        }
        if id == "authentication_required" {
            check(error["data"]["nonce"].string?.isEmpty == false, "no nonce", line: line)
        }
    }

    private func isJSON(_ answer: RESTResponse) -> Bool {
        answer.header("Content-Type")?.hasPrefix("application/json") == true
    }
}
