// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import TestTiers
import Testing

@Suite("a child process")
struct ChildProcessTests {
    @Test("a child process returns its status, its output and the signal that ended it")
    func exits() async throws {
        let shell = try Programs.find("sh")
        let returned = try await ChildProcess.run(
            Launch(shell, arguments: ["-c", "cat; echo two >&2; exit 7"], input: "one\n"))
        #expect(returned.status == 7)
        #expect(returned.signal == nil)
        #expect(returned.output == "one\ntwo\n")
        let killed = try await ChildProcess.run(Launch(shell, arguments: ["-c", "kill -9 $$"]))
        #expect(killed.status == 137)
        #expect(killed.signal == SIGKILL)
    }

    @Test("a child process gets its environment and directory, and none of our files")
    func surroundings() async throws {
        let shell = try Programs.find("sh")
        let script = #"echo "$GREETING"; pwd; ls /proc/self/fd | wc -l; env | grep -c '^HOME=' || true"#
        let exit = try await ChildProcess.run(
            Launch(
                shell, arguments: ["-c", script], environment: ["GREETING": "hello", "PATH": "/usr/bin:/bin"],
                directory: "/usr"))
        // Three standard streams, and the directory that `ls` itself has open.
        #expect(
            exit.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } == [
                "hello", "/usr", "4", "0",
            ])
    }

    @Test("a child process that does not stop is killed")
    func stubborn() async throws {
        try await withTemporaryDirectory { directory in
            let mark = directory + "/ready"
            let script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
            let child = try await ChildProcess.start(
                Launch(
                    try Programs.find("sh"), arguments: ["-c", script], deathSignal: .kill, output: .append(to: mark)))
            try await eventually { LogTail.last(1, of: mark) == "ready" }
            let exit = await child.stop(SIGTERM, patience: .milliseconds(200))
            #expect(exit?.signal == SIGKILL)
            #expect(!child.isRunning)
        }
    }

    @Test("a wait can be cancelled without affecting the child")
    func cancelledWait() async throws {
        let child = try await ChildProcess.start(
            Launch(try Programs.find("sleep"), arguments: ["60"], deathSignal: .kill))
        let waiting = Task { await child.waitForExit() }
        waiting.cancel()
        #expect(await waiting.value == nil)
        #expect(child.isRunning)
        #expect(await child.stop()?.signal == SIGTERM)
    }

    @Test("an error names a missing program")
    func missing() async throws {
        let error = #expect(throws: LocalServerError.self) { try Programs.find("no-such-program-of-ours") }
        #expect(error?.code == .missingProgram)
        let spawning = await #expect(throws: LocalServerError.self) {
            try await ChildProcess.start(Launch("/no/such/program"))
        }
        #expect(spawning?.code == .spawnFailed)
        #expect(spawning?.message.contains("/no/such/program") == true)
    }

    @Test("a child process dies with its parent, even if that is killed")
    func deathSignal() async throws {
        // A shell takes the part of the parent, with the same `setpriv` options. Its child must end with it.
        try await withTemporaryDirectory { directory in
            let file = directory + "/pid"
            let setpriv = try Programs.find("setpriv")
            let script =
                #"( echo $BASHPID > "$1.new"; mv "$1.new" "$1"; exec \#(setpriv) --pdeathsig=KILL -- sleep 60 ) & wait"#
            let parent = try await ChildProcess.start(
                Launch(try Programs.find("bash"), arguments: ["-c", script, "sh", file], deathSignal: .kill))
            try await eventually { FileManager.default.fileExists(atPath: file) }
            let pid = try #require(Int32(LogTail.last(1, of: file)))
            try await eventually { (try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)) == "sleep\n" }
            parent.signal(SIGKILL)
            try await eventually { isGone(pid) }
        }
    }

    /// Returns true if the process is gone, or dead and not yet reaped by its adoptive parent.
    private func isGone(_ pid: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return true }
        return text.contains(") Z ")
    }
}
