// SPDX-License-Identifier: Apache-2.0
import TestTiers

/// A test or suite, with the requirements that it claims to prove.
struct Proof: Hashable {
    /// The name in test reports: the display name, or else the name of the function or type.
    let name: String
    let isSuite: Bool
    /// The path relative to the repository's root, for example `Tests/StrataKitTests/MetadataTests.swift`.
    let file: String
    let ids: [String]
}

extension Proof {
    /// A malformed `.proves(…)`. Each case contains the file.
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

    static func all(in source: String, file: String) throws(Problem) -> [Proof] {
        let tokens: [SwiftTokens.Token]
        do { tokens = try SwiftTokens.all(of: source) } catch { throw .unreadable(file, line: error.line) }
        var reader = ProofReader(tokens: tokens, file: file)
        return try reader.proofs()
    }
}

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

    /// `Test` or `Suite` if such an attribute with arguments starts at the current token, otherwise nil.
    private var attribute: String? {
        ["Test", "Suite"].first { has([.mark("@"), .word($0), .mark("(")], at: place) }
    }

    /// Consumes the parentheses that open here, and returns the range of tokens between them.
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
        for place in arguments where has([.mark("."), .word("proves"), .mark("(")], at: place) {
            ids += try literals(from: place + 3)
        }
        guard !ids.isEmpty else { return nil }
        let name: String =
            if case .text(let text?)? = arguments.first.map({ tokens[$0] }) { text } else { declaredName }
        guard !arguments.contains(where: { has([.mark("."), .word("disabled")], at: $0) }) else {
            throw .disabled(file, name: name)
        }
        return Proof(name: name, isSuite: isSuite, file: file, ids: ids)
    }

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

    private var declaredName: String {
        let declarators: Set<SwiftTokens.Token> = [
            .word("func"), .word("struct"), .word("enum"), .word("class"), .word("actor"), .word("extension"),
        ]
        let name = tokens[place...].drop { !declarators.contains($0) }.dropFirst().first
        return if case .word(let name)? = name { name } else { "?" }
    }

    private func has(_ expected: [SwiftTokens.Token], at place: Int) -> Bool { tokens[place...].starts(with: expected) }
}
