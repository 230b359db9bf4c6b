// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import StrataKit
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd {
    /// The program in pseudo-terminals, against the real services.
    @Suite("the example Chat")
    struct ChatTests {
        @Test("two users see each other's messages, typing, receipts and metadata", .timeLimit(.minutes(3)))
        func chat() async throws {
            let room = try await ChatRoom(try await Cluster.shared())
            let alice = try await room.enter("alice")
            let bob = try await room.enter("bob", via: 1)
            alice.terminal.press("/new bob\r")
            try await alice.terminal.shows("bob (new)")
            alice.terminal.press("Hi Bob, 你好\r")
            try await bob.terminal.shows("alice: Hi Bob, 你好")
            try await alice.terminal.shows("alice: Hi Bob, 你好  · read")
            bob.terminal.press("x")
            try await alice.terminal.shows("bob is typing")
            bob.terminal.press("\u{15}/set trip.city Porto\r")
            try await alice.terminal.shows("trip.city")
            try await alice.terminal.shows("Porto")
            bob.terminal.press("/set title Weekend\r")
            try await alice.terminal.shows(" Weekend ")
            try await alice.quit()
            try await bob.quit()
        }

        @Test("conversations count unread messages, and participants join and leave", .timeLimit(.minutes(3)))
        func conversations() async throws {
            let room = try await ChatRoom(try await Cluster.shared())
            let (alice, bob) = (try await room.enter("alice"), try await room.enter("bob"))
            alice.terminal.press("/new bob\rfirst\r/set title First\r")
            try await bob.terminal.shows("alice: first")
            alice.terminal.press("/new bob carol\rsecond\r")
            // The first conversation stays selected.
            try await bob.terminal.shows(" 1 │")
            alice.terminal.press("/remove carol\r")
            try await alice.terminal.showsNoLonger("carol")
            alice.terminal.press("/add dave\r")
            try await alice.terminal.shows("○ dave")
            try await alice.quit()
            try await bob.quit()
        }

        @Test(
            "while the gateway is down a banner counts pending changes, which are sent on reconnect",
            .timeLimit(.minutes(4)))
        func offline() async throws {
            try await Cluster.with(Cluster.Size()) { cluster in
                let room = try await ChatRoom(cluster)
                let alice = try await room.enter("alice")
                alice.terminal.press("/new bob\rfirst\r")
                try await alice.terminal.shows("alice: first  · sent")
                let gateway = try #require(cluster.instances(of: .gateway).first)
                await gateway.kill()
                try await alice.terminal.shows(" Offline. ")
                alice.terminal.press("second\r")
                try await alice.terminal.shows("alice: second  · waiting")
                alice.terminal.press("/set title Later\r")
                try await alice.terminal.shows(" Offline. 2 changes wait")
                try await gateway.start()
                try await alice.terminal.shows("alice: second  · sent")
                try await alice.terminal.showsNoLonger("Offline")
                try await alice.quit()
            }
        }

        @Test(
            "messages written before the program ended are shown after a restart, including unsent ones",
            .timeLimit(.minutes(3)))
        func restart() async throws {
            let room = try await ChatRoom(try await Cluster.shared())
            let first = try await room.enter("alice")
            first.terminal.press("/new bob\rone\r")
            try await first.terminal.shows("alice: one  · sent")
            first.terminal.press("/offline\rtwo\r")
            try await first.terminal.shows("alice: two  · waiting")
            try await first.quit()
            let second = try await room.enter("alice")
            try await second.terminal.shows("alice: two  · sent")
            try await second.quit()
        }

        @Test("control sequences that another user sends do not reach the terminal", .timeLimit(.minutes(3)))
        func controlCharacters() async throws {
            let cluster = try await Cluster.shared()
            let room = try await ChatRoom(cluster)
            let alice = try await room.enter("alice")
            let mallory = try await room.signIn("mallory")
            let chat = try await mallory.newConversation(
                with: [UserID(trusted: "alice")], options: .init(metadata: ["title": "\u{1B}]0;owned\u{07}x"]))
            try await chat.send(mallory.newMessage(parts: [.text("\u{1B}[2J\u{9B}31mhello\u{7F}")]))
            try await alice.terminal.shows("␛[2J\u{FFFD}31mhello␡")
            try await alice.terminal.shows("␛]0;owned␇x")
            #expect(!alice.terminal.output.contains("\u{1B}]"))
            #expect(!alice.terminal.output.unicodeScalars.contains { [0x07, 0x7F, 0x9B].contains($0.value) })
            try await alice.quit()
            await mallory.close()
        }

        @Test(
            "without a terminal, or without an identity token, the program ends with a sentence",
            .timeLimit(.minutes(3)))
        func refusal() async throws {
            let cluster = try await Cluster.shared()
            let room = try await ChatRoom(cluster)
            let words = ["-c", "exec \"$@\" </dev/null 2>&1", "sh", try Executables.find("ChatExample")]
            let pipe = try await ChildProcess.run(
                Launch("/bin/sh", arguments: words + room.words("alice"), output: .capture(limit: 4096)))
            #expect(pipe.output == "chat: Input and output must be a terminal.\n")
            #expect(pipe.status == 1)
            let terminal = try PseudoTerminal()
            let process = try await room.start(
                room.words("alice") + ["--display-name", String(repeating: "x", count: 129)], in: terminal)
            try await terminal.shows("chat: alice gets no identity token. strata: --display-name must have 1 to 128")
            #expect(await process.waitForExit()?.status == 1)
        }

        @Test("the screen follows the size of the window", .timeLimit(.minutes(3)))
        func resize() async throws {
            let alice = try await ChatRoom(try await Cluster.shared()).enter("alice")
            alice.terminal.resize(columns: 60, rows: 10)
            alice.process.signal(SIGWINCH)
            try await alice.terminal.shows("online ")
            try await eventually("the lines have 60 columns") {
                let lines = alice.terminal.lines
                return lines.count == 10 && lines[0].count == 60 && lines[0].hasSuffix("online ")
            }
            try await alice.quit()
        }

        @Test(
            "the terminal is restored however the program ends", .timeLimit(.minutes(3)),
            arguments: ["\u{03}", "/quit\r", "TERM", "HUP"])
        func restored(_ way: String) async throws {
            let terminal = try PseudoTerminal()
            let settings = terminal.settings
            let alice = try await ChatRoom(try await Cluster.shared()).enter("alice", in: terminal)
            #expect(terminal.settings != settings)
            switch way {
            case "TERM": alice.process.signal(SIGTERM)
            case "HUP": alice.process.signal(SIGHUP)
            default: terminal.press(way)
            }
            #expect(await alice.process.waitForExit()?.status == 0)
            #expect(terminal.settings == settings)
            // The cursor is visible, lines wrap again, and the previous screen is restored.
            try await eventually("the end of the output has come") {
                terminal.output.hasSuffix("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
            }
        }
    }
}

/// An app with a home directory, whose users chat.
struct ChatRoom {
    private struct NewApp: Decodable {
        let app: String
    }

    private let program: StrataProgram
    private let cluster: Cluster
    private let app: String

    init(_ cluster: Cluster) async throws {
        self.cluster = cluster
        program = try StrataProgram("chat")
        let created = try await program.run([
            "app", "create", "--name", "Chat", "--database", cluster.databaseURL, "--json",
        ])
        app = try JSONDecoder().decode(NewApp.self, from: Data(created.output.utf8)).app
    }

    /// Returns the options with which a user signs in.
    func words(_ user: String, via gateway: Int = 0) -> [String] {
        ["--app", app, "--user", user, "--url", cluster.urls[gateway]]
    }

    /// Starts the example and waits until it is connected.
    func enter(_ user: String, via gateway: Int = 0, in terminal: PseudoTerminal? = nil) async throws -> Chatter {
        let terminal = try terminal ?? PseudoTerminal()
        let process = try await start(words(user, via: gateway), in: terminal)
        try await terminal.shows("online ")
        return Chatter(terminal: terminal, process: process)
    }

    /// Starts the example with these options.
    func start(_ words: [String], in terminal: PseudoTerminal) async throws -> ChildProcess {
        let tools = URL(filePath: try Executables.find("strata")).deletingLastPathComponent()
            .path(percentEncoded: false)
        let environment = [
            "PATH": "\(tools):/usr/bin:/bin", "TERM": "xterm-256color", "STRATA_HOME": program.directory + "/home",
        ]
        return try await terminal.start(
            try Executables.find("ChatExample"), words, environment: environment, directory: program.directory)
    }

    /// Signs a user in to the same app without a terminal.
    func signIn(_ user: String) async throws -> StrataClient {
        let url = try #require(URL(string: cluster.urls[0]))
        let client = try StrataClient(
            appID: app, options: .init(server: url, directory: try KitUser.folder(user)))
        try await client.connect()
        let nonce = try await client.requestAuthenticationNonce()
        let token = try await program.run(["token", "--user", user, "--nonce", nonce]).output
            .trimmingCharacters(in: .whitespacesAndNewlines)
        try await client.authenticate(identityToken: token)
        return client
    }
}

struct Chatter {
    let terminal: PseudoTerminal
    let process: ChildProcess

    func quit() async throws {
        terminal.press("\u{03}")
        let status = await process.waitForExit()?.status
        guard status == 0 else { throw KitProblem("the chat ended with status \(status ?? -1)") }
    }
}
