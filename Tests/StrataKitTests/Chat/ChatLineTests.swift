// SPDX-License-Identifier: Apache-2.0

import StrataModel
import Testing

@testable import ChatExample

@Suite("input lines of the example Chat")
struct ChatLineTests {
    private let bob = UserID(trusted: "bob")
    private let carol = UserID(trusted: "carol")

    @Test("a line is a message, also with a slash inside or two at its start")
    func message() throws {
        #expect(try ChatLine(parsing: "either/or") == .message("either/or"))
        #expect(try ChatLine(parsing: "//set off") == .message("/set off"))
    }

    @Test("the value of metadata is the rest of the line")
    func set() throws {
        #expect(
            try ChatLine(parsing: "/set trip.city Porto and  Lisbon")
                == .set(path: "trip.city", value: "Porto and  Lisbon"))
        #expect(try ChatLine(parsing: "/unset a.b c") == .unset(["a.b", "c"]))
    }

    @Test("several users are separated by spaces")
    func users() throws {
        #expect(try ChatLine(parsing: "/new bob  carol") == .new([bob, carol]))
        #expect(try ChatLine(parsing: "/add bob") == .add([bob]))
        #expect(try ChatLine(parsing: "/remove carol") == .remove([carol]))
    }

    @Test(
        "an incomplete or unknown command is no message",
        arguments: ["/set", "/set title", "/unset", "/new", "/add", "/remove", "/bogus", "/"])
    func wrong(_ line: String) { #expect(throws: ChatLine.Problem.self) { try ChatLine(parsing: line) } }

    @Test("the help lists every command")
    func help() throws {
        let commands = ["/new", "/set", "/unset", "/add", "/remove", "/leave", "/offline", "/online", "/help", "/quit"]
        let usages = ChatLine.explanations.map(\.usage).joined(separator: " ")
        for command in commands { #expect(usages.contains(command)) }
    }
}
