// SPDX-License-Identifier: Apache-2.0
import Foundation
import Hummingbird
import Model
import Wire

/// Push tokens (spec 3.7), and what is asked about channels, of which there are none (spec 11).
extension RESTRouter {
    func registerDevices(on router: RESTRoutes) {
        on(router, .post, "/push_tokens", .signedIn) { request, context throws(Failure) in
            let body = try PushTokenBody(try await json(request))
            try await services.setPushToken(body, try context.call())
            return RESTAnswer(status: .accepted)
        }
        on(router, .delete, "/push_tokens/:device", .signedIn) { _, context throws(Failure) in
            // An unknown device is as good as deleted, and so is one that cannot be.
            if let device = context.parameters.get("device").map({ $0.removingPercentEncoding ?? $0 }), !device.utf8.contains(0) {
                try await services.deletePushToken(device: device, try context.call())
            }
            return RESTAnswer(status: .accepted)
        }
        on(router, .get, "/channels", .signedIn) { _, _ throws(Failure) in .list([Int](), total: 0) { $1.int($0) } }
    }
}
