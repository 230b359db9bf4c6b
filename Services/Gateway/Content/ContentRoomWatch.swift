// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import ServiceLifecycle

/// Says in metrics how full the place for content is, so that somebody hears of it before nothing can be uploaded any more.
struct ContentRoomWatch: Service {
    let store: any ContentStore

    private let free = Gauge(label: "strata_gateway_content_free_bytes")
    private let size = Gauge(label: "strata_gateway_content_size_bytes")

    private static let pause = Duration.seconds(15)

    init(store: any ContentStore) {
        self.store = store
    }

    /// Looks until the service stops. What cannot be found out is left as it was: uploads will say so.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                guard let room = try? await store.room() else { continue }
                free.record(room.free)
                size.record(room.size)
            } while (try? await Task.sleep(for: Self.pause)) != nil
        }
    }
}
