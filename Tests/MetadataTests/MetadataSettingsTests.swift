// SPDX-License-Identifier: Apache-2.0

import Metadata
import ServiceKit
import StrataModel
import Testing

@Suite("The settings of the metadata service")
struct MetadataSettingsTests {
    private func read(_ changes: [String: String]) throws -> MetadataSettings {
        let required = [
            "STRATA_POSTGRES_URL": "postgresql://user@db/strata", "STRATA_REDIS_URL": "redis://redis",
            "STRATA_CLUSTER_SECRET": "secret of this cluster, long enough",
        ]
        let settings = Settings(environment: required.merging(changes) { $1 })
        return try MetadataSettings(settings, common: CommonSettings(settings))
    }

    @Test("a tree has 1 MB by default, and as many keys as fit in it")
    func limits() throws {
        #expect(try read([:]).limits == MetadataLimits(bytes: 1 << 20))
        #expect(
            try read(["STRATA_METADATA_MAX_BYTES": "0", "STRATA_METADATA_MAX_KEYS": "5"]).limits
                == MetadataLimits(keys: 5))
        #expect(try read(["STRATA_METADATA_MAX_BYTES": "2000"]).limits == MetadataLimits(bytes: 2000))
        #expect { try read(["STRATA_METADATA_MAX_BYTES": "-1"]) } throws: {
            ($0 as? SettingsError)?.key == "STRATA_METADATA_MAX_BYTES"
        }
    }
}
