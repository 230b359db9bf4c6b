// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The execution plans that `auto_explain` writes into a server's log, including those of statements inside functions.
struct PlanLog {
    let path: String

    struct Execution: Decodable {
        let query: String
        let plan: Node

        private enum CodingKeys: String, CodingKey {
            case query = "Query Text"
            case plan = "Plan"
        }
    }

    struct Node: Decodable {
        let type: String
        let relation: String?
        let index: String?
        let rows: Double
        let loops: Double
        let removed: Double
        let pages: Double
        let children: [Node]

        private enum CodingKeys: String, CodingKey {
            case type = "Node Type"
            case relation = "Relation Name"
            case index = "Index Name"
            case rows = "Actual Rows"
            case loops = "Actual Loops"
            case removed = "Rows Removed by Filter"
            case hit = "Shared Hit Blocks"
            case read = "Shared Read Blocks"
            case children = "Plans"
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            type = try values.decode(String.self, forKey: .type)
            relation = try values.decodeIfPresent(String.self, forKey: .relation)
            index = try values.decodeIfPresent(String.self, forKey: .index)
            rows = try values.decodeIfPresent(Double.self, forKey: .rows) ?? 0
            loops = try values.decodeIfPresent(Double.self, forKey: .loops) ?? 0
            removed = try values.decodeIfPresent(Double.self, forKey: .removed) ?? 0
            pages =
                (try values.decodeIfPresent(Double.self, forKey: .hit) ?? 0)
                + (try values.decodeIfPresent(Double.self, forKey: .read) ?? 0)
            children = try values.decodeIfPresent([Node].self, forKey: .children) ?? []
        }

        var all: [Node] { [self] + children.flatMap(\.all) }
    }

    /// The current size of the log, in bytes.
    var end: UInt64 {
        get throws {
            let file = try FileHandle(forReadingFrom: URL(filePath: path))
            defer { try? file.close() }
            return try file.seekToEnd()
        }
    }

    /// Returns the executions logged since the log had the size `start`.
    func executions(since start: UInt64) throws -> [Execution] {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? file.close() }
        try file.seek(toOffset: start)
        let lines = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        var found: [Execution] = []
        var object: [Substring]?
        // All lines of a message except the first begin with a tab.
        for line in lines {
            if line == "\t{" {
                object = [line]
            } else if line == "\t}", let text = object {
                found.append(
                    try JSONDecoder().decode(Execution.self, from: Data((text + [line]).joined(separator: "\n").utf8)))
                object = nil
            } else {
                object?.append(line)
            }
        }
        return found
    }
}
