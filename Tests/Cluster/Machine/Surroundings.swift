// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestSupport

/// The facilities of a ``Cluster``.
package struct Surroundings: Sendable {
    package let network: VirtualNetwork?
    package let disk: SmallDisk?
    package let databaseClock: MovableClock?
    private let hasClocks: Bool

    /// The address of PostgreSQL and Redis.
    var home: String { network?.home.description ?? "127.0.0.1" }

    /// - Parameter latency: The delay of every packet of the network in milliseconds.
    static func make(_ facilities: Set<Facility>, latency: Double = 0) async throws -> Surroundings {
        let hasClocks = facilities.contains(.clocks)
        return Surroundings(
            network: facilities.contains(.network) ? try await VirtualNetwork.start(seed: 1, latency: latency) : nil,
            disk: facilities.contains(.smallDisk) ? try await SmallDisk.mount(megabytes: 2048) : nil,
            databaseClock: hasClocks ? try MovableClock() : nil, hasClocks: hasClocks)
    }

    func newClock() throws -> MovableClock? { hasClocks ? try MovableClock() : nil }

    var redisArguments: [String] {
        network == nil ? [] : ["--bind", "127.0.0.1", home, "--protected-mode", "no"]
    }

    /// - Parameters:
    ///   - data: The data directory to copy, as in ``TestServers``.
    ///   - host: The host of the server. nil: this machine.
    func startPostgres(
        _ further: [String: String], data: String?, on host: VirtualNetwork.Host? = nil, isDurable: Bool = false
    ) async throws -> PrivatePostgres {
        // The limit lets the write-ahead log of a whole run of faults fit on the small disk.
        var settings = ["max_wal_size": "128MB"].merging(further) { $1 }
        if network != nil {
            let rules = try TestDirectory.make("rules") + "/pg_hba.conf"
            try "host all all 127.0.0.1/32 trust\nhost all all 198.18.0.0/15 trust\n"
                .write(toFile: rules, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: rules)
            if host == nil { settings["listen_addresses"] = "127.0.0.1,\(home)" }
            settings["hba_file"] = rules
        }
        return try await TestServers.privatePostgres(
            isDurable: isDurable, settings: settings, wrapper: databaseClock?.wrapper ?? [],
            directory: host == nil ? disk.map { $0.path + "/postgres" } : nil, data: data,
            on: host?.server ?? .loopback)
    }

    func end() async {
        await network?.stop()
        await disk?.unmount()
    }
}
