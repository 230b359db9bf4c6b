// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import Synchronization

/// A network of real interfaces on one machine, with simulated faults.
///
/// Each host is a network namespace with its own interface. All packets between hosts pass through this process, which
/// delays, drops, cuts and resets them (``FaultModel``). It replaces netem, which some kernels lack.
///
/// This process is the first host. The network requires root and ends with this process.
package final class VirtualNetwork: Sendable {
    package struct Address: Hashable, Sendable, CustomStringConvertible {
        let bits: UInt32

        init(bits: UInt32) { self.bits = bits }

        /// Parses an address; nil if it is malformed.
        package init?(_ text: String) {
            let bytes = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
            guard bytes.count == 4, !bytes.contains(nil) else { return nil }
            bits = bytes.compactMap { $0 }.reduce(0) { $0 << 8 | UInt32($1) }
        }

        package var description: String { [24, 16, 8, 0].map { String(bits >> $0 & 0xff) }.joined(separator: ".") }
    }

    /// A fault between two hosts, or at one host.
    package struct Fault: Sendable {
        /// The delay of a packet in milliseconds. The packets of one pair of hosts stay in order.
        package var delay: ClosedRange<Double>
        /// The packet loss in percent.
        package var loss: Int
        /// True if all packets are lost silently.
        package var isCut: Bool

        package init(delay: ClosedRange<Double> = 0...0, loss: Int = 0, isCut: Bool = false) {
            self.delay = delay
            self.loss = loss
            self.isCut = isCut
        }
    }

    /// A namespace with one interface. A program runs in it if its command line begins with ``prefix``.
    package struct Host: Sendable {
        package let address: Address
        /// The beginning of a command line that runs a program in the namespace.
        package let prefix: [String]

        /// The host of a private server.
        var server: ServerHost { ServerHost(address: address.description, prefix: prefix) }
    }

    /// The reason why this machine or user cannot create a network; nil if they can.
    package static let obstacle: String? = {
        guard geteuid() == 0 else { return "needs root" }
        guard access("/dev/net/tun", R_OK | W_OK) == 0 else { return "needs /dev/net/tun" }
        for program in ["ip", "nsenter", "unshare"] where (try? Programs.find(program)) == nil {
            return "needs the program \(program)"
        }
        return nil
    }()

    /// The address of this process's host.
    package let home: Address
    private let faultModel: Mutex<FaultModel>
    private let devices = Mutex<[UInt32: TunDevice]>([:])
    private let isStopped = Atomic<Bool>(false)
    private let holders = Mutex<[ChildProcess]>([])
    /// The CPU time of the thread that carries packets, in microseconds.
    private let microseconds = Atomic<Int>(0)
    /// The first three bytes of all addresses, within 198.18.0.0/15, which is reserved for network tests (RFC 2544).
    private let base: UInt32
    private static let made = Atomic<UInt32>(0)

    private init(seed: UInt64, latency: Double) {
        let number = UInt32(getpid()) &* 8 &+ Self.made.add(1, ordering: .relaxed).newValue
        base = 198 << 24 | 18 << 16 | (number % 512) << 8
        home = Address(bits: base | 1)
        faultModel = Mutex(FaultModel(seed: seed, latency: latency))
    }

    /// Creates a network with this process as the first host.
    /// - Parameters:
    ///   - seed: The seed of all random decisions.
    ///   - latency: The delay of every packet in milliseconds.
    package static func start(seed: UInt64, latency: Double = 0) async throws -> VirtualNetwork {
        let network = VirtualNetwork(seed: seed, latency: latency)
        let device = try TunDevice("strata\(network.base >> 8 & 0xffff)")
        network.devices.withLock { $0[network.home.bits] = device }
        try await network.ip(["addr", "add", "\(network.home)/24", "dev", device.name])
        try await network.ip(["link", "set", device.name, "up"])
        let thread = Thread { network.carry() }
        thread.name = "network"
        thread.start()
        return network
    }

    package func host() async throws -> Host {
        let (address, device) = try devices.withLock { devices in
            let number = devices.count + 1
            let address = Address(bits: base | UInt32(number))
            let device = try TunDevice("strata\(base >> 8 & 0xffff).\(number)")
            devices[address.bits] = device
            return (address, device)
        }
        let holder = try await ChildProcess.start(
            Launch(
                try Programs.find("unshare"), arguments: ["--net", try Programs.find("sleep"), "infinity"],
                deathSignal: .kill))
        holders.withLock { $0.append(holder) }
        try await awaitNamespace(of: holder.pid)
        let prefix = [try Programs.find("nsenter"), "--net=/proc/\(holder.pid)/ns/net"]
        try await ip(["link", "set", device.name, "netns", "\(holder.pid)"])
        try await ip(["link", "set", "lo", "up"], in: prefix)
        try await ip(["addr", "add", "\(address)/24", "dev", device.name], in: prefix)
        try await ip(["link", "set", device.name, "up"], in: prefix)
        return Host(address: address, prefix: prefix)
    }

    package func stop() async {
        isStopped.store(true, ordering: .releasing)
        for holder in holders.withLock({ $0 }) { await holder.stop(SIGKILL) }
    }

    // MARK: Faults

    /// Sets or removes a fault.
    /// - Parameters:
    ///   - fault: The fault; nil removes it.
    ///   - other: The other host; nil: every address.
    ///   - port: Limits the fault to connections from or to this port.
    package func set(_ fault: Fault?, at one: Address, and other: Address? = nil, port: Int? = nil) {
        faultModel.withLock {
            $0.set(
                fault, at: FaultModel.Place(one: one, other: other, port: port.map { UInt16(truncatingIfNeeded: $0) }))
        }
    }

    /// Resets all connections of a host, and notifies both ends.
    package func resetConnections(of address: Address) {
        let devices = devices.withLock { $0 }
        for reset in faultModel.withLock({ $0.resetConnections(of: address) }) {
            devices[reset.target]?.write(reset.packet)
        }
    }

    // MARK: Packets

    /// The CPU time that the network itself has used, in seconds. It includes the kernel's work of receiving packets,
    /// which on real machines is a part of the receivers' time.
    package var processorTime: Double {
        Double(microseconds.load(ordering: .relaxed)) / 1e6
    }

    private func noteProcessorTime() {
        var usage = rusage()
        // RUSAGE_THREAD is a macro of GNU.
        getrusage(__rusage_who_t(1), &usage)
        let all = [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Int($1.tv_sec) * 1_000_000 + Int($1.tv_usec) }
        microseconds.store(all, ordering: .relaxed)
    }

    private struct Travelling {
        let bytes: [UInt8]
        let target: UInt32
        let arrival: ContinuousClock.Instant
    }

    /// Forwards packets until the network is stopped.
    private func carry() {
        // The processes of this machine must not delay the network. On Linux, 0 is the calling thread.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -10)
        var travelling: [Travelling] = []
        var lastArrival: [UInt64: ContinuousClock.Instant] = [:]
        while !isStopped.load(ordering: .acquiring) {
            let devices = devices.withLock { $0 }
            let limit = travelling.first.map { $0.arrival - .now } ?? .milliseconds(20)
            for device in ready(of: Array(devices.values), within: limit) {
                for _ in 0..<64 {
                    guard let bytes = device.read() else { break }
                    guard let packet = Packet(bytes) else { continue }
                    switch faultModel.withLock({ $0.fate(of: packet) }) {
                    case .lost: break
                    case .reset(let answer): device.write(answer.packet)
                    case .arrives(let delay) where delay == 0 && travelling.isEmpty:
                        devices[packet.target]?.write(bytes)
                    case .arrives(let delay):
                        let pair = UInt64(packet.source) << 32 | UInt64(packet.target)
                        let arrival = max(.now + .milliseconds(delay), lastArrival[pair] ?? .now)
                        lastArrival[pair] = arrival
                        let index = travelling.partitioningIndex { $0.arrival > arrival }
                        travelling.insert(Travelling(bytes: bytes, target: packet.target, arrival: arrival), at: index)
                    }
                }
            }
            let now = ContinuousClock.now
            let arrived = travelling.partitioningIndex { $0.arrival > now }
            for packet in travelling[..<arrived] { devices[packet.target]?.write(packet.bytes) }
            travelling.removeFirst(arrived)
            noteProcessorTime()
        }
        devices.withLock { devices in
            for device in devices.values { device.close() }
            devices = [:]
        }
    }

    /// Waits for packets of the kernel.
    /// - Returns: The devices that have some; empty after the time limit.
    private func ready(of devices: [TunDevice], within limit: Duration) -> [TunDevice] {
        var polled = devices.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        let microseconds = limit.components.seconds * 1_000_000 + limit.components.attoseconds / 1_000_000_000_000
        // `poll` counts whole milliseconds, so shorter times are slept. New packets wait for at most 200 µs then.
        if microseconds > 0, microseconds < 1000 { usleep(UInt32(min(200, microseconds))) }
        poll(&polled, nfds_t(polled.count), Int32(max(0, min(20, microseconds / 1000))))
        return zip(devices, polled).compactMap { $1.revents == 0 ? nil : $0 }
    }

    // MARK: Namespaces

    private func ip(_ words: [String], in prefix: [String] = []) async throws {
        let all = prefix + [try Programs.find("ip")] + words
        let exit = try await ChildProcess.run(
            Launch(all[0], arguments: Array(all.dropFirst()), output: .capture(limit: 4096)))
        guard exit.isSuccess else { throw NetworkError("ip \(words.joined(separator: " ")): \(exit.output)") }
    }

    /// Waits for the namespace of `unshare`, which exists once `unshare` has become the program it runs. There is no
    /// event for that, so this function polls.
    private func awaitNamespace(of pid: Int32) async throws {
        for _ in 0..<400 {
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
            if program?.hasSuffix("sleep") == true || program?.hasSuffix("coreutils") == true { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw NetworkError("no network namespace was made")
    }
}

extension Array {
    /// Returns the index of the first element that satisfies the condition. The array must be partitioned by the
    /// condition.
    fileprivate func partitioningIndex(where belongsBehind: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if belongsBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
