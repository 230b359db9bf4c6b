// SPDX-License-Identifier: Apache-2.0

import TestCluster
import Testing

/// A temporary fault of a running system.
enum Fault: CaseIterable, Sendable, CustomTestStringConvertible {
    case gatewayKilled, conversationsKilled, metadataKilled, presenceKilled
    case gatewayHangs, conversationsHangs, metadataHangs, presenceHangs
    case redisKilled, redisHangs
    case postgresRestarted, postgresKilled, postgresHangs
    case readersStop, rollingRestart
    case connectionsCut, networkSlow, networkLossy, networkDivided
    case clockAhead, clockBehind, databaseClockAhead, databaseClockBehind
    case diskFull
    case gatewayOutOfFiles, conversationsOutOfFiles, metadataOutOfFiles, presenceOutOfFiles
    case hostileUsers
    // Add new cases at the end: the seed of a trial is derived from the index of its case.
    case webhooksKilled, webhooksHangs
    case appMoved

    /// The groups of mutually exclusive faults.
    static let groups: [[Fault]] = [
        [.gatewayKilled, .gatewayHangs, .gatewayOutOfFiles],
        [.conversationsKilled, .conversationsHangs, .conversationsOutOfFiles],
        [.metadataKilled, .metadataHangs, .metadataOutOfFiles], [.presenceKilled, .presenceHangs, .presenceOutOfFiles],
        [.webhooksKilled, .webhooksHangs], [.redisKilled, .redisHangs],
        [.postgresRestarted, .postgresKilled, .postgresHangs, .diskFull],
        [.readersStop], [.hostileUsers], [.connectionsCut, .networkSlow, .networkLossy, .networkDivided],
        // A move must be begun anew after a change of the epoch.
        [.clockAhead, .clockBehind, .databaseClockAhead, .databaseClockBehind, .appMoved],
    ]

    static let possible = allCases.filter { $0.obstacle == nil }

    /// The reason why this machine cannot inject the fault; nil if it can.
    var obstacle: String? {
        if case .appMoved = self, Cluster.defaultDatabases == 1 { return "needs STRATA_TEST_DATABASES=2" }
        return facility?.obstacle
    }

    private var facility: Facility? {
        switch self {
        case .connectionsCut, .networkSlow, .networkLossy, .networkDivided: .network
        case .clockAhead, .clockBehind, .databaseClockAhead, .databaseClockBehind: .clocks
        case .diskFull: .smallDisk
        default: nil
        }
    }

    var testDescription: String {
        switch self {
        case .gatewayKilled: "a gateway is killed"
        case .conversationsKilled: "an instance of conversations is killed"
        case .metadataKilled: "an instance of metadata is killed"
        case .presenceKilled: "an instance of presence is killed"
        case .gatewayHangs: "a gateway hangs"
        case .conversationsHangs: "an instance of conversations hangs"
        case .metadataHangs: "an instance of metadata hangs"
        case .presenceHangs: "an instance of presence hangs"
        case .redisKilled: "Redis is killed and comes back empty"
        case .redisHangs: "Redis hangs"
        case .postgresRestarted: "PostgreSQL is restarted"
        case .postgresKilled: "PostgreSQL is killed"
        case .postgresHangs: "PostgreSQL hangs"
        case .readersStop: "a third of the clients stop reading"
        case .rollingRestart: "every process is restarted, one after the other"
        case .connectionsCut: "every connection of a process is cut"
        case .networkSlow: "every packet takes 20 to 60 ms longer"
        case .networkLossy: "three packets in a hundred are lost"
        case .networkDivided: "two processes do not reach each other"
        case .clockAhead: "a service's clock jumps 20 s ahead and back"
        case .clockBehind: "a service's clock jumps 20 s back and ahead"
        case .databaseClockAhead: "the database's clock jumps 20 s ahead and back"
        case .databaseClockBehind: "the database's clock jumps 20 s back and ahead"
        case .diskFull: "the database's disk is full"
        case .gatewayOutOfFiles: "a gateway has no descriptors left"
        case .conversationsOutOfFiles: "an instance of conversations has no descriptors left"
        case .metadataOutOfFiles: "an instance of metadata has no descriptors left"
        case .presenceOutOfFiles: "an instance of presence has no descriptors left"
        case .hostileUsers: "hostile users"
        case .webhooksKilled: "an instance of webhooks is killed"
        case .webhooksHangs: "an instance of webhooks hangs"
        case .appMoved: "the app moves to another database and back"
        }
    }
}
