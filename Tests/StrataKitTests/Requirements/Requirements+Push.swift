// SPDX-License-Identifier: Apache-2.0

extension Requirements {
    static let push = RequirementGroup(
        title: "Push notifications", prefixes: ["PUSH"],
        requirements: [
            Requirement(
                id: "PUSH-1",
                "A device token is kept and sent with each connection; nil removes that of this device.",
                exempt: "needs Apple's push service"),
            Requirement(
                id: "PUSH-2",
                "`synchronize(withRemoteNotification:)` fetches what a notification is about, and returns nil for those of other senders.",
                exempt: "needs Apple's push service"),
            Requirement(
                id: "PUSH-3",
                "A message carries the text of its notification, which may differ for single participants.",
                exempt: "needs Apple's push service"),
            Requirement(
                id: "PUSH-4",
                "On Linux there are no calls for device tokens and background transfers.",
                exempt: "needs an Apple platform, which alone has such calls"),
        ])
}
