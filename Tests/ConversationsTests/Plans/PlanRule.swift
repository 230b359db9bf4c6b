// SPDX-License-Identifier: Apache-2.0

/// What a plan must not do, whatever the planner was made to believe.
struct PlanRule {
    /// Statements that look for what happened lately may use the indexes by time; others may not, since those know no conversation and no user.
    var readsByTime = false
    /// Rows one node may read. More than the longest list and the largest page of these tests have, and far less than there are.
    var rows: Double = 500

    /// Tables of one row, which have no index.
    private static let single: Set<String> = ["log_begin", "epoch"]

    /// What is wrong with how a statement was executed.
    func faults(of execution: PlanLog.Execution) -> [String] {
        let read = execution.plan.all.filter { $0.relation != nil && $0.children.isEmpty && $0.loops > 0 }
        return read.compactMap { node in
            guard let fault = self.fault(of: node) else { return nil }
            let counts = "\(node.loops) times, \(node.rows) rows and \(node.removed) removed each, \(node.pages) pages"
            return "\(node.type) of \(node.relation ?? "") by \(node.index ?? "no index") \(fault) (\(counts)) in: \(execution.query)"
        }
    }

    private func fault(of node: PlanLog.Node) -> String? {
        guard let relation = node.relation, !Self.single.contains(relation), node.type != "ModifyTable" else { return nil }
        guard let index = node.index else { return node.type == "Tid Scan" ? nil : "reads a whole table" }
        if index.hasSuffix("created_at_idx") || index.hasSuffix("change_by_time"), !readsByTime { return "reads by time" }
        if node.loops * (node.rows + node.removed) > rows { return "reads too many rows" }
        // Down the index and to the row, for a few keys at a time: a node that reads more walks through entries that are not its own.
        if node.pages > node.loops * 40 + 3 * node.loops * node.rows { return "reads too many pages" }
        return nil
    }
}
