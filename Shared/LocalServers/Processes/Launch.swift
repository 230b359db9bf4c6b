// SPDX-License-Identifier: Apache-2.0

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
        guard user != nil || deathSignal != nil else { return program }
        var words = [try Programs.find("setpriv")]
        if let user {
            words += ["--reuid=\(user.uid)", "--regid=\(user.gid)"]
            words.append(user.name == "nobody" ? "--clear-groups" : "--init-groups")
        }
        if let deathSignal {
            words.append("--pdeathsig=\(deathSignal.rawValue)")
        }
        return words + ["--"] + program
    }
}
