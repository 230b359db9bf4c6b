// SPDX-License-Identifier: Apache-2.0

/// What to run and how: the recipe of a child process.
public struct Launch: Sendable {
    /// Where standard output and standard error go, both to the same place.
    public enum Output: Sendable, Equatable {
        /// To `/dev/null`.
        case discard
        /// To our own.
        case inherit
        /// Into memory, at most this many bytes; more is read and thrown away. Found in ``ChildProcess/Exit/output``.
        case capture(limit: Int)
        /// To the end of a file, made with mode 0600 if there is none.
        case append(to: String)
    }

    /// The signal the kernel sends the child when this process is gone, however it went.
    public enum DeathSignal: String, Sendable {
        /// For PostgreSQL a fast, clean shutdown.
        case interrupt = "INT"
        /// An orderly end.
        case terminate = "TERM"
        /// At once.
        case kill = "KILL"
    }

    /// Absolute path of the program.
    public var executable: String
    /// Its arguments, without the program's name.
    public var arguments: [String]
    /// Its whole environment; nil hands on ours.
    public var environment: [String: String]?
    /// The directory it starts in; nil is ours.
    public var directory: String?
    /// The user it runs as; nil is ours. Needs root.
    public var user: SystemUser?
    /// What it gets when we die without having stopped it. Needs `setpriv`; nil leaves the child alone.
    public var deathSignal: DeathSignal?
    /// Where its output goes.
    public var output: Output
    /// What it reads on standard input, at most 64 KiB, then the end; nil is nothing at all.
    public var input: String?

    /// A recipe. Everything but the program has a default: our environment, directory and user, no output, no input.
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

    /// The words to execute: the program itself, behind `env` where a directory and behind `setpriv` where another user or a death signal is wanted. Both replace themselves by
    /// the program, so the process id is the program's; and it sets the death signal after the user, because changing the user clears it.
    func words() throws -> [String] {
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
