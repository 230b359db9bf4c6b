// SPDX-License-Identifier: Apache-2.0
import Foundation
import Hummingbird
import StrataModel
import StrataWire

/// Routes for push tokens (docs/conformance.md §3.7), and the list of channels, which is always empty
/// (docs/conformance.md §11).
struct DeviceRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let tokens = routes.signedIn("/push_tokens")
        tokens.on(.post, use: setToken)
        tokens.on(.delete, ":device", use: deleteToken)
        routes.signedIn("/channels").on(.get) { _ throws(Failure) in .list([Int](), total: 0) { $1.int($0) } }
    }

    private func setToken(_ body: PushTokenBody, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        try await services.setPushToken(body, for: context.call)
        return RESTAnswer(status: .accepted)
    }

    private func deleteToken(_ context: SignedInContext) async throws(Failure) -> RESTAnswer {
        // Unknown and impossible devices are treated as deleted.
        if let device = context.parameters.get("device").map({ $0.removingPercentEncoding ?? $0 }),
            !device.utf8.contains(0)
        {
            try await services.deletePushToken(device: device, for: context.call)
        }
        return RESTAnswer(status: .accepted)
    }
}
