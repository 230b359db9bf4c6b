// SPDX-License-Identifier: Apache-2.0
import Foundation
import LocalServers
import StrataCommand

/// `pgbench` with the statement of a write, on the tables of the system under load: the limit that PostgreSQL sets.
///
/// Each transaction is one statement. The services send several in a transaction.
struct StatementBaseline: Sendable {
    /// The statement.
    enum Write: Sendable {
        /// - Parameter bytes: The length of the message's text.
        case message(bytes: Int)
        case patch
    }

    private let system: BenchSystem
    private let script: String
    private static let clients = 32

    /// - Parameter conversations: The ids of the conversations to write to, in the order of the plan. They have no
    ///   sockets, because gateways would read these writes from the log and deliver them.
    init(_ write: Write, _ system: BenchSystem, _ plan: RoomPlan, _ conversations: [String]) {
        self.system = system
        let ids = conversations.map { "'\($0)'" }.joined(separator: ", ")
        let app = system.app.id.uuidString.lowercased()
        let conversation = "(ARRAY[\(ids)]::uuid[])[:room + 1]"
        let user = "'u' || (\(plan.firstUser) + :room * \(plan.members) + :member)"
        let statement: String
        switch write {
        case .message(let bytes):
            let parts = Self.parts(text: bytes)
            statement = """
                SELECT r.outcome, r.position, r.created_at, r.ordinal, r.recipients FROM conversations.send_message(
                '\(app)'::uuid, \(user), \(conversation), gen_random_uuid(), '\\x\(parts)'::bytea, NULL, NULL, NULL,
                NULL::uuid[], true) r;
                """
        case .patch:
            statement = """
                SELECT r.outcome, r.position, r.created_at, r.message_count, r.effects FROM metadata.patch(
                '\(app)'::uuid, \(conversation), \(user), jsonb_build_array(jsonb_build_object('path', 'load.value',
                'set', jsonb_build_array(jsonb_build_array('load.value', :value::text)))), NULL, NULL, NULL, NULL,
                false) r;
                """
        }
        script = """
            \\set room random(0, \(conversations.count - 1))
            \\set member random(0, \(plan.senders - 1))
            \\set value random(1, 1000000000)
            \(statement.replacing("\n", with: " "))

            """
    }

    /// Returns the stored form of a message's parts in hexadecimal digits: one part of plain text. The format is that
    /// of `MessageParts` in Shared/Contracts/Protos/model.proto.
    private static func parts(text count: Int) -> String {
        var part: [UInt8] = []
        part.append(field: 1, [UInt8](repeating: 7, count: 16))
        part.append(field: 2, Array("text/plain".utf8))
        part.append(field: 3, [UInt8](repeating: UInt8(ascii: "x"), count: count))
        var parts: [UInt8] = []
        parts.append(field: 1, part)
        return parts.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// Runs `pgbench` once.
    func run(seconds: Double) async throws -> RunResult {
        let file = NSTemporaryDirectory() + "/strata-bench-\(UUID().uuidString).sql"
        try script.write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let time = max(1, Int(seconds.rounded()))
        let words = [
            "-n", "-M", "prepared", "-c", "\(Self.clients)", "-j", "1", "-T", "\(time)", "-f", file,
            system.state.databaseURL,
        ]
        let before = system.account()
        let launch = Launch(
            try Programs.findPostgres("pgbench"), arguments: words, deathSignal: .kill, output: .capture(limit: 65_536))
        let exit = try await ChildProcess.run(launch, timeout: .seconds(time + 60))
        let cost = system.account() - before
        guard exit.isSuccess, let rate = Self.number(after: "tps = ", in: exit.output),
            let count = Self.number(after: "number of transactions actually processed: ", in: exit.output), count > 0
        else { throw BenchProblem("pgbench failed: \(exit.output.suffix(500))") }
        return RunResult(
            figures: [
                Figure(FigureName.statements, rate, "/s"),
                Figure("CPU of a statement", cost.processorTime / count * 1e3, "ms"),
            ], services: cost.costs(units: Int(count), operations: Int(count)))
    }

    private static func number(after text: String, in output: String) -> Double? {
        guard let start = output.range(of: text)?.upperBound else { return nil }
        return Double(output[start...].prefix { $0.isNumber || $0 == "." })
    }
}

extension [UInt8] {
    /// Appends a field of bytes in the format of Protocol Buffers.
    fileprivate mutating func append(field number: UInt8, _ content: [UInt8]) {
        append(number << 3 | 2)
        var count = content.count
        while count > 127 {
            append(UInt8(count & 127) | 128)
            count >>= 7
        }
        append(UInt8(count))
        self += content
    }
}
