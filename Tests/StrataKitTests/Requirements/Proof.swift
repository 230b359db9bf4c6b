// SPDX-License-Identifier: Apache-2.0
import RequirementTrait

/// A test or suite, and the requirements that it says it proves.
struct Proof: Hashable {
    /// What the test is called where it runs: its display name, or else the name of its function or type.
    let name: String
    let isSuite: Bool
    /// From the root of the repository, for example `Tests/StrataKitTests/MetadataTests.swift`.
    let file: String
    let ids: [String]
}

extension Proof {
    /// A `.proves(…)` that cannot be understood. Each case has the file.
    enum Problem: Error, Hashable, CustomStringConvertible {
        case unreadable(String, line: Int)
        case outsideAttribute(String)
        case notLiterals(String)
        case malformed(String, id: String)
        case disabled(String, name: String)

        var description: String {
            switch self {
            case .unreadable(let file, let line): "\(file):\(line): a string or comment has no end"
            case .outsideAttribute(let file): "\(file): .proves stands outside of @Test(…) and @Suite(…)"
            case .notLiterals(let file): "\(file): .proves takes string literals, at least one"
            case .malformed(let file, let id): "\(file): \"\(id)\" is not the id of a requirement"
            case .disabled(let file, let name): "\(file): \"\(name)\" is disabled, and so proves nothing"
            }
        }
    }

    /// The proofs of one source file, in their order.
    static func all(in source: String, file: String) throws(Problem) -> [Proof] {
        let tokens: [SwiftTokens.Token]
        do { tokens = try SwiftTokens.all(of: source) } catch { throw .unreadable(file, line: error.line) }
        var reader = ProofReader(tokens: tokens, file: file)
        return try reader.proofs()
    }
}

/// Reads the attributes of tests out of the tokens of a file.
private struct ProofReader {
    let tokens: [SwiftTokens.Token]
    let file: String
    private var place = 0

    init(tokens: [SwiftTokens.Token], file: String) {
        self.tokens = tokens
        self.file = file
    }

    mutating func proofs() throws(Proof.Problem) -> [Proof] {
        var proofs: [Proof] = []
        while place < tokens.count {
            if let kind = attribute {
                place += 2
                let arguments = parenthesized()
                if let proof = try proof(arguments, isSuite: kind == "Suite") { proofs.append(proof) }
            } else if has([.mark("."), .word("proves"), .mark("(")], at: place) {
                throw .outsideAttribute(file)
            } else {
                place += 1
            }
        }
        return proofs
    }

    /// `Test` or `Suite`, if such an attribute with arguments begins here.
    private var attribute: String? {
        ["Test", "Suite"].first { has([.mark("@"), .word($0), .mark("(")], at: place) }
    }

    /// Takes what stands between the parenthesis that begins here and the one that closes it.
    private mutating func parenthesized() -> Range<Int> {
        let start = place + 1
        var depth = 0
        repeat {
            if tokens[place] == .mark("(") { depth += 1 }
            if tokens[place] == .mark(")") { depth -= 1 }
            place += 1
        } while depth > 0 && place < tokens.count
        return start..<max(start, place - 1)
    }

    private func proof(_ arguments: Range<Int>, isSuite: Bool) throws(Proof.Problem) -> Proof? {
        var ids: [String] = []
        for place in arguments where has([.mark("."), .word("proves"), .mark("(")], at: place) { ids += try literals(from: place + 3) }
        guard !ids.isEmpty else { return nil }
        let name: String = if case .text(let text?)? = arguments.first.map({ tokens[$0] }) { text } else { declaredName }
        guard !arguments.contains(where: { has([.mark("."), .word("disabled")], at: $0) }) else { throw .disabled(file, name: name) }
        return Proof(name: name, isSuite: isSuite, file: file, ids: ids)
    }

    /// The literals up to the next closing parenthesis.
    private func literals(from start: Int) throws(Proof.Problem) -> [String] {
        var ids: [String] = []
        for token in tokens[start...].prefix(while: { $0 != .mark(")") }) where token != .mark(",") {
            guard case .text(let id?) = token else { throw .notLiterals(file) }
            guard Proves.isWellFormed(id) else { throw .malformed(file, id: id) }
            ids.append(id)
        }
        guard !ids.isEmpty else { throw .notLiterals(file) }
        return ids
    }

    /// The name of the function or type that follows.
    private var declaredName: String {
        let declarators: Set<SwiftTokens.Token> = [.word("func"), .word("struct"), .word("enum"), .word("class"), .word("actor"), .word("extension")]
        let name = tokens[place...].drop { !declarators.contains($0) }.dropFirst().first
        return if case .word(let name)? = name { name } else { "?" }
    }

    private func has(_ expected: [SwiftTokens.Token], at place: Int) -> Bool { tokens[place...].starts(with: expected) }
}
