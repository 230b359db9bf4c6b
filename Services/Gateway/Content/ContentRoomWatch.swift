// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import ServiceLifecycle

/// A service that publishes the free space of the content store as metrics, so that an operator is warned before
/// uploads fail.
struct ContentRoomWatch: Service {
    let store: any ContentStore

    private let freeBytes = Gauge(label: "strata_gateway_content_free_bytes")
    private let bytes = Gauge(label: "strata_gateway_content_size_bytes")
    private let freeFiles = Gauge(label: "strata_gateway_content_free_files")
    private let files = Gauge(label: "strata_gateway_content_files_limit")

    private static let pause = Duration.seconds(15)

    init(store: any ContentStore) {
        self.store = store
    }

    /// Records the metrics until the service stops. A failed reading leaves them unchanged; uploads report such errors.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                guard let room = try? await store.room() else { continue }
                freeBytes.record(room.freeBytes)
                bytes.record(room.bytes)
                freeFiles.record(room.freeFiles ?? 0)
                files.record(room.files ?? 0)
            } while (try? await Task.sleep(for: Self.pause)) != nil
        }
    }
}
