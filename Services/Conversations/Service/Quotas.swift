// SPDX-License-Identifier: Apache-2.0
import Metrics
import Postgres
import StrataModel

/// The maximum numbers of objects that one user, or all users of one app, may have. nil: no limit.
///
/// The database checks quotas under a lock. A request that would exceed a quota is refused with the name of the
/// property. A quota does not remove existing objects.
public struct Quotas: Sendable, Equatable {
    /// The maximum number of users that one user follows without having met them.
    public var followed: Int? = 10_000
    /// The maximum number of users that one user has blocked.
    public var blocked: Int? = 10_000
    /// The maximum number of devices of one user with a push token.
    public var pushTokens: Int? = 100
    /// The maximum number of contents of one user that no message refers to: announced, being uploaded, or not sent
    /// yet.
    public var uploads: Int? = 1000
    /// The maximum announced bytes of these contents.
    public var uploadBytes: Int? = 10 << 30
    /// The maximum number of contents of all users of one app that no message refers to.
    public var appUploads: Int? = 100_000
    /// The maximum announced bytes of these contents.
    public var appUploadBytes: Int? = 1 << 40
    /// The maximum number of pending delayed messages of one app's own server.
    public var delayedMessages: Int? = 10_000

    /// Creates the default quotas.
    public init() {}
}

/// An exceeded quota, with its failure and its metric.
enum QuotaRefusal: String {
    case followed, blocked
    case pushTokens = "push_tokens"
    case uploads
    case uploadBytes = "upload_bytes"
    case appUploads = "app_uploads"
    case appUploadBytes = "app_upload_bytes"
    case delayedMessages = "delayed_messages"
    /// Additions to conversations. The limit is a setting of the app.
    case additions

    func failure(_ quotas: Quotas) -> Failure {
        Counter(label: "strata_conversations_quota_refusals_total", dimensions: [("quota", rawValue)]).increment()
        let length = "Upload-Content-Length"
        return switch self {
        case .followed:
            .invalid(
                "user_ids",
                reason:
                    "would exceed your limit of \(quotas.followed ?? 0) followed users without a common conversation")
        case .blocked: .invalid("blocks", reason: "would exceed the limit of \(quotas.blocked ?? 0) blocked users")
        case .pushTokens:
            .invalid("device_id", reason: "would exceed your limit of \(quotas.pushTokens ?? 0) devices")
        case .uploads:
            .invalid(
                length,
                reason: "would exceed your limit of \(quotas.uploads ?? 0) contents outside of messages")
        case .uploadBytes:
            .invalid(
                length,
                reason: "would exceed your limit of \(quotas.uploadBytes ?? 0) bytes of content outside of messages")
        case .appUploads:
            .invalid(
                length,
                reason:
                    "would exceed the app's limit of \(quotas.appUploads ?? 0) contents outside of messages"
            )
        case .appUploadBytes:
            .invalid(
                length,
                reason:
                    "would exceed the app's limit of \(quotas.appUploadBytes ?? 0) bytes of content outside of messages"
            )
        case .delayedMessages:
            .invalid(
                "schedule",
                reason: "would exceed the app's limit of \(quotas.delayedMessages ?? 0) delayed messages")
        case .additions:
            .invalid(
                "participants", reason: "names a user whom you have added to too many conversations within an hour")
        }
    }
}
