// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import StrataModel

/// Applies one edit to a message's parts (docs/conformance.md §6.7). It is a pure value and stores nothing.
struct PartEditor {
    /// The parts after the edit.
    private(set) var parts: [MessagePart]
    /// The edits that changed something. Empty: the parts are unchanged.
    private(set) var edits: [Change.PartEdit] = []
    /// The index of the added or replaced part.
    private(set) var index = 0
    private let time: Timestamp

    /// - Parameters:
    ///   - parts: the parts before the edit.
    ///   - time: the time of the edit, for the parts that it changes.
    ///   - limit: the maximum number of parts after the edit.
    /// - Throws: `not_found` for a missing part, `invalid_operation` for the removal of the last one,
    ///   `invalid_property` for exceeded limits.
    init(
        _ parts: [MessagePart], applying edit: ProtoEditPartsRequest.OneOf_Edit?, at time: Timestamp,
        limit: Int = Limits.partsPerMessage
    ) throws {
        self.parts = parts
        self.time = time
        switch edit {
        case .add(let part): try add(try MessagePart(part))
        case .replace(let replacement): try replace(try find(replacement.part), by: try MessagePart(replacement.by))
        case .remove(let reference): try remove(try find(reference))
        case .replaceAll(let all):
            try replaceAll(try all.parts.map { part throws(ContractViolation) in try MessagePart(part) })
        case nil: throw ContractViolation("EditPartsRequest.edit")
        }
        try checkLimits(limit)
    }

    private func find(_ reference: ProtoPartReference) throws -> Int {
        guard let found = Self.find(reference, in: parts) else { throw Failure.notFound("message part") }
        return found
    }

    /// Returns the index of the referenced part, or nil.
    static func find(_ reference: ProtoPartReference, in parts: [MessagePart]) -> Int? {
        let found: Int?
        switch reference.reference {
        case .id(let bytes): found = UUID(contract: bytes).flatMap { id in parts.firstIndex { $0.id == id } }
        case .index(let index): found = parts.indices.contains(Int(index)) ? Int(index) : nil
        case nil: found = nil
        }
        return found
    }

    private mutating func add(_ part: MessagePart) throws {
        guard !parts.contains(where: { $0.id == part.id }) else {
            throw Failure.invalid("id", reason: "is the id of another part of the message")
        }
        var part = part
        part.updatedAt = time
        index = parts.count
        parts.append(part)
        edits = [.added(part.id)]
    }

    private mutating func replace(_ place: Int, by part: MessagePart) throws {
        index = place
        var part = part
        part.id = parts[place].id
        part.updatedAt = parts[place].updatedAt
        guard part != parts[place] else { return }
        part.updatedAt = time
        parts[place] = part
        edits = [.changed(part.id)]
    }

    private mutating func remove(_ place: Int) throws {
        guard parts.count > 1 else { throw Failure(.invalidOperation, "The last part of a message cannot be removed.") }
        edits = [.removed(parts[place].id, index: place)]
        parts.remove(at: place)
    }

    private mutating func replaceAll(_ new: [MessagePart]) throws {
        var new = new
        for index in new.indices {
            // An unchanged part keeps its time.
            let before = parts.first { $0.id == new[index].id }
            new[index].updatedAt = before?.updatedAt
            if new[index] != before { new[index].updatedAt = time }
        }
        guard new != parts else { return }
        parts = new
        edits = [.allReplaced]
    }

    private func checkLimits(_ limit: Int) throws {
        guard !parts.isEmpty else { throw Failure.invalid("parts", reason: "must have at least one element") }
        guard parts.count <= limit else { throw Failure.invalid("parts", reason: "would be more than \(limit)") }
        let inline = parts.reduce(0) { $0 + ($1.contentID == nil ? $1.size : 0) }
        guard inline <= Limits.inlineMessageBytes else {
            throw Failure.invalid(
                "parts", reason: "would have more than \(Limits.inlineMessageBytes) bytes in their bodies together")
        }
    }
}
