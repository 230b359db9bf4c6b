// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization

/// One `posix_spawn`. It sets up standard streams, process group and signals, and closes all other descriptors in the
/// child.
struct Spawn {
    let pid: Int32
    /// The read end of the pipe with the captured output.
    private let outputEnd: FileHandle?
    private let limit: Int

    /// A lock that serializes spawning. A pipe exists for a moment before it is marked close-on-exec, and a child
    /// spawned in that moment would keep its end open.
    private static let oneAtATime = Mutex(())

    init(words: [String], launch: Launch) throws {
        self = try Self.oneAtATime.withLock { _ in try Spawn(alone: words, launch: launch) }
    }

    private init(alone words: [String], launch: Launch) throws {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        let streams = try Streams(launch: launch)
        defer { streams.closeChildEnds() }
        posix_spawn_file_actions_adddup2(&actions, streams.input, 0)
        posix_spawn_file_actions_adddup2(&actions, streams.output, 1)
        posix_spawn_file_actions_adddup2(&actions, streams.output, 2)
        for descriptor in Self.ownDescriptors() { posix_spawn_file_actions_addclose(&actions, descriptor) }
        Self.setSignals(&attributes)

        let environment = (launch.environment ?? ProcessInfo.processInfo.environment).map { "\($0.key)=\($0.value)" }
        var pid: pid_t = 0
        let code = Self.withWords(of: words) { arguments in
            Self.withWords(of: environment) { posix_spawn(&pid, words[0], &actions, &attributes, arguments, $0) }
        }
        guard code == 0 else {
            throw LocalServerError(
                .spawnFailed, "\(launch.executable) could not be started: \(String(cString: strerror(code)))")
        }
        self.pid = pid
        self.outputEnd = streams.reading.map { FileHandle(fileDescriptor: $0, closeOnDealloc: true) }
        if case .capture(let limit) = launch.output { self.limit = limit } else { self.limit = 0 }
    }

    /// Reads the captured output until the child closes it. Returns at once if the output is not captured.
    func readOutput() -> String {
        guard let outputEnd else { return "" }
        var bytes = Data()
        while let chunk = try? outputEnd.read(upToCount: 65_536), !chunk.isEmpty {
            bytes.append(chunk.prefix(max(0, limit - bytes.count)))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns this process's open descriptors beyond the standard streams.
    ///
    /// All code should open files with close-on-exec, but a child that lives for weeks must not depend on it. A socket
    /// that it inherits by accident stays open after this process has closed it.
    private static func ownDescriptors() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0) }.filter { $0 > 2 }
    }

    /// Gives the child its own process group and unblocks and resets all signals. NIO and shells ignore some signals,
    /// and children inherit that.
    private static func setSignals(_ attributes: inout posix_spawnattr_t) {
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        posix_spawnattr_setflags(&attributes, Int16(flags))
    }

    private static func withWords<R>(of words: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
        let pointers = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers)
    }
}

/// The descriptors of a child's standard streams. All are close-on-exec unless they are duplicated to their place.
private struct Streams {
    let input: Int32
    let output: Int32
    let reading: Int32?
    private let closing: [Int32]

    init(launch: Launch) throws {
        let input = try Self.openInput(launch.input)
        do {
            let (output, reading) = try Self.openOutput(launch.output)
            self.input = input
            self.output = output
            self.reading = reading
            self.closing = launch.output == .inherit ? [input] : [input, output]
        } catch {
            close(input)
            throw error
        }
    }

    func closeChildEnds() {
        for descriptor in closing { close(descriptor) }
    }

    private static func openInput(_ text: String?) throws -> Int32 {
        guard let text else { return try openFile("/dev/null", flags: O_RDONLY) }
        let (reading, writing) = try makePipe()
        let bytes = Array(text.utf8)
        // A pipe holds 64 KiB, so this write cannot block.
        precondition(bytes.count <= 65_536, "the input of a child must fit into a pipe")
        _ = write(writing, bytes, bytes.count)
        close(writing)
        return reading
    }

    private static func openOutput(_ output: Launch.Output) throws -> (writing: Int32, reading: Int32?) {
        switch output {
        case .inherit: return (1, nil)
        case .discard: return (try openFile("/dev/null", flags: O_WRONLY), nil)
        case .append(let path): return (try openFile(path, flags: O_WRONLY | O_CREAT | O_APPEND), nil)
        case .capture:
            let (reading, writing) = try makePipe()
            return (writing, reading)
        }
    }

    private static func openFile(_ path: String, flags: Int32) throws -> Int32 {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw LocalServerError(.unusableDirectory, "\(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        return descriptor
    }

    private static func makePipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw LocalServerError(.spawnFailed, "No pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}

/// Runs work on a new thread, which ends with the work. Used for blocking work and for work that must stay on one
/// thread.
func startThread(_ work: @escaping @Sendable () -> Void) {
    let thread = Thread { work() }
    thread.stackSize = 512 * 1024
    thread.start()
}

/// The description of a child process to start.
public struct Launch: Sendable {
    /// The destination of both standard output and standard error.
    public enum Output: Sendable, Equatable {
        /// `/dev/null`.
        case discard
        /// The output of this process.
        case inherit
        /// A buffer of at most this many bytes; more is read and discarded. ``ChildProcess/Exit/output`` returns it.
        case capture(limit: Int)
        /// The end of a file, which is created with mode 0600 if it does not exist.
        case append(to: String)
    }

    /// The signal that the kernel sends the child when this process ends for any reason.
    public enum DeathSignal: String, Sendable {
        /// `SIGINT`. PostgreSQL performs a fast, clean shutdown.
        case interrupt = "INT"
        /// `SIGTERM`. The program ends in order.
        case terminate = "TERM"
        /// `SIGKILL`. The program ends at once.
        case kill = "KILL"
    }

    /// The absolute path of the program.
    public var executable: String
    /// The arguments, without the program's name.
    public var arguments: [String]
    /// The whole environment. nil: the environment of this process.
    public var environment: [String: String]?
    /// The working directory. nil: that of this process.
    public var directory: String?
    /// The user the child runs as, which requires root. nil: the user of this process.
    public var user: SystemUser?
    /// The signal the child receives if this process dies. Requires `setpriv`. nil: none.
    public var deathSignal: DeathSignal?
    /// The destination of the output.
    public var output: Output
    /// The child's standard input, at most 64 KiB. nil: empty.
    public var input: String?
    /// The beginning of the command line, which still runs as the user of this process: a program that replaces itself
    /// with the rest, such as `nsenter`.
    public var prefix: [String] = []

    /// Creates a description. The defaults are this process's environment, directory and user, no output, and no input.
    public init(
        _ executable: String, arguments: [String] = [], environment: [String: String]? = nil, directory: String? = nil,
        user: SystemUser? = nil, deathSignal: DeathSignal? = nil, output: Output = .discard, input: String? = nil
    ) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
        self.user = user
        self.deathSignal = deathSignal
        self.output = output
        self.input = input
    }

    /// Returns the command line.
    ///
    /// The program is wrapped in `env` if a directory is given, and in `setpriv` if a user or a death signal is given.
    /// Both replace themselves with the program by `exec`, so the process id is that of the program. `setpriv` sets the
    /// death signal after the user, because a change of the user clears it.
    func commandLine() throws -> [String] {
        var program = [executable] + arguments
        if let directory { program = [try Programs.find("env"), "--chdir=\(directory)"] + program }
        guard user != nil || deathSignal != nil else { return prefix + program }
        var words = [try Programs.find("setpriv")]
        if let user {
            words += ["--reuid=\(user.uid)", "--regid=\(user.gid)"]
            words.append(user.name == "nobody" ? "--clear-groups" : "--init-groups")
        }
        if let deathSignal {
            words.append("--pdeathsig=\(deathSignal.rawValue)")
        }
        return prefix + words + ["--"] + program
    }
}
