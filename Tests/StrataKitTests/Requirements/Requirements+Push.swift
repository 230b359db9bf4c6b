// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let push = RequirementGroup(
        title: "Push notifications", prefixes: ["PUSH"],
        requirements: [
            Requirement(
                id: "PUSH-1",
                "A device token is stored and sent with each connection; nil removes this device's token.",
                exempt: "needs Apple's push service"),
            Requirement(
                id: "PUSH-2",
                "`synchronize(withRemoteNotification:)` fetches a notification's objects, and returns nil for notifications of other senders.",
                exempt: "needs Apple's push service"),
            Requirement(
                id: "PUSH-3",
                "A message carries its notification text, which may differ per participant.",
                exempt: "needs Apple's push service"),
            Requirement(
                id: "PUSH-4",
                "On Linux there are no calls for device tokens and background transfers.",
                exempt: "needs these calls, which exist only on Apple platforms"),
        ])
}
