// SPDX-License-Identifier: Apache-2.0

/// The forbidden properties of a plan, whatever statistics the planner was given.
struct PlanRule {
    /// True for statements that look for recent changes and may use indexes by time. Others may not, because these
    /// indexes contain neither conversations nor users.
    var readsByTime = false
    /// The maximum number of rows that one node may read. It exceeds the longest list and the largest page of these
    /// tests, and is far below the size of the tables.
    var rows: Double = 500
    /// Small tables that the statement reads whole.
    var whole: Set<String> = []

    /// Single-row tables without an index.
    private static let single: Set<String> = ["log_begin", "epoch"]

    func faults(of execution: PlanLog.Execution) -> [String] {
        let read = execution.plan.all.filter { $0.relation != nil && $0.children.isEmpty && $0.loops > 0 }
        return read.compactMap { node in
            guard let fault = self.fault(of: node) else { return nil }
            let counts = "\(node.loops) times, \(node.rows) rows and \(node.removed) removed each, \(node.pages) pages"
            return
                "\(node.type) of \(node.relation ?? "") by \(node.index ?? "no index") \(fault) (\(counts)) in: \(execution.query)"
        }
    }

    private func fault(of node: PlanLog.Node) -> String? {
        guard let relation = node.relation, !Self.single.union(whole).contains(relation), node.type != "ModifyTable"
        else {
            return nil
        }
        guard let index = node.index else { return node.type == "Tid Scan" ? nil : "reads a whole table" }
        if index.hasSuffix("created_at_idx") || index.hasSuffix("change_by_time"), !readsByTime {
            return "reads by time"
        }
        if node.loops * (node.rows + node.removed) > rows { return "reads too many rows" }
        // The allowance covers a descent of the index and the row, for a few keys at a time. A node that reads more
        // pages scans entries of other keys.
        if node.pages > node.loops * 40 + 3 * node.loops * node.rows { return "reads too many pages" }
        return nil
    }
}
