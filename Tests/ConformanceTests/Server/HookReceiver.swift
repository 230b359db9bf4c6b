// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import LocalServers
import ProtocolClient
import TestSupport

/// A webhook receiver: a small HTTP server that records each request. A path that ends in `wrong` answers the challenge
/// wrongly. A path that ends in `fails-once` answers 500 to the first event.
struct HookReceiver: Sendable {
    let url: String
    private let file: String
    private let process: ChildProcess

    private static let program = """
        import http.server, json, os, urllib.parse
        failed = set()
        def tell(line):
            # Each request has a thread of its own: one write for a whole line, so that no two lines mix.
            os.write(1, (json.dumps(line) + "\\n").encode())
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def note(self, body):
                headers = {name.lower(): value for name, value in self.headers.items()}
                tell({"method": self.command, "path": self.path, "headers": headers, "body": body})
            def answer(self, status, body=b""):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            def do_GET(self):
                self.note("")
                parts = urllib.parse.urlsplit(self.path)
                challenge = urllib.parse.parse_qs(parts.query).get("verification_challenge", [""])[0]
                self.answer(200, b"no" if parts.path.endswith("wrong") else challenge.encode())
            def do_POST(self):
                self.note(self.rfile.read(int(self.headers["Content-Length"])).decode())
                if self.path.endswith("fails-once") and self.path not in failed:
                    failed.add(self.path)
                    return self.answer(500)
                self.answer(200)
            def log_message(self, *_): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        tell({"port": server.server_address[1]})
        server.serve_forever()
        """

    static func shared() async throws -> HookReceiver { try await starting.value }

    private static let starting = Task {
        let file = try TestDirectory.make("hooks") + "/requests"
        let process = try await ChildProcess.start(
            Launch(
                "/usr/bin/env", arguments: ["python3", "-c", program], deathSignal: .kill, output: .append(to: file)))
        let deadline = ContinuousClock.now + Fixture.patience
        while .now < deadline {
            if let port = try lines(of: file).first?["port"].int {
                return HookReceiver(url: "http://127.0.0.1:\(port)", file: file, process: process)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw HarnessError("the receiver of webhooks did not start")
    }

    /// Returns the complete lines that the receiver wrote. An unfinished last line is left out.
    /// - Throws: If a line is not JSON. Otherwise a test would wait until its timeout for the request in it.
    private static func lines(of file: String) throws -> [JSONValue] {
        guard let bytes = FileManager.default.contents(atPath: file), let end = bytes.lastIndex(of: UInt8(ascii: "\n"))
        else { return [] }
        return try bytes[..<end].split(separator: UInt8(ascii: "\n"))
            .map { try JSONValue(parsing: String(decoding: $0, as: UTF8.self)) }
    }

    func requests(_ path: String) throws -> [JSONValue] {
        try Self.lines(of: file).filter { $0["path"].string?.split(separator: "?").first.map(String.init) == path }
    }

    func events(_ path: String, until isEnough: ([JSONValue]) -> Bool) async throws -> [JSONValue] {
        let deadline = ContinuousClock.now + .seconds(90)
        while .now < deadline {
            let events = try requests(path).filter { $0["method"].string == "POST" }
            if isEnough(events) { return events }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw HarnessError("the events did not come: \(try requests(path))")
    }

    static func signature(of body: String, secret: String) -> String {
        HMAC<Insecure.SHA1>.authenticationCode(for: Data(body.utf8), using: SymmetricKey(data: Data(secret.utf8)))
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
