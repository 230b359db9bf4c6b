// SPDX-License-Identifier: Apache-2.0
import Metrics
import Postgres
import StrataModel

/// What one user, or all users of one app, may have of things that nothing else bounds; nil: no limit.
///
/// They are checked in the database, under a lock, and what is over a quota is refused with the name of the property. A quota keeps nothing that is there already.
public struct Quotas: Sendable, Equatable {
    /// Users that one user follows without having met them.
    public var followed: Int? = 10_000
    /// Users whom one user has blocked.
    public var blocked: Int? = 10_000
    /// Devices of one user that can be reached by push.
    public var pushTokens: Int? = 100
    /// Contents of one user that are in no message: announced, being uploaded, or not sent yet.
    public var uploads: Int? = 1000
    /// Their bytes, as announced.
    public var uploadBytes: Int? = 10 << 30
    /// The same of all users of one app.
    public var appUploads: Int? = 100_000
    /// Their bytes, as announced.
    public var appUploadBytes: Int? = 1 << 40
    /// Messages of one app's own server that wait for their time.
    public var delayedMessages: Int? = 10_000

    /// The defaults.
    public init() {}
}

/// A quota that was reached, with what is told about it and counted.
enum QuotaRefusal: String {
    case followed, blocked
    case pushTokens = "push_tokens"
    case uploads
    case uploadBytes = "upload_bytes"
    case appUploads = "app_uploads"
    case appUploadBytes = "app_upload_bytes"
    case delayedMessages = "delayed_messages"
    /// The bound is a setting of the app.
    case additions

    func failure(_ quotas: Quotas) -> Failure {
        Counter(label: "strata_conversations_quota_refusals_total", dimensions: [("quota", rawValue)]).increment()
        let length = "Upload-Content-Length"
        return switch self {
        case .followed: .invalid("user_ids", reason: "would be more than \(quotas.followed ?? 0) users that you follow without having met them")
        case .blocked: .invalid("blocks", reason: "would be more than \(quotas.blocked ?? 0) users")
        case .pushTokens: .invalid("device_id", reason: "would be one of more than \(quotas.pushTokens ?? 0) devices of yours")
        case .uploads: .invalid(length, reason: "would be of one of more than \(quotas.uploads ?? 0) contents of yours that are in no message")
        case .uploadBytes: .invalid(length, reason: "would make more than \(quotas.uploadBytes ?? 0) bytes of yours that are in no message")
        case .appUploads:
            .invalid(length, reason: "would be of one of more than \(quotas.appUploads ?? 0) contents of this app that are in no message")
        case .appUploadBytes: .invalid(length, reason: "would make more than \(quotas.appUploadBytes ?? 0) bytes of this app that are in no message")
        case .delayedMessages:
            .invalid("schedule", reason: "would be of one of more than \(quotas.delayedMessages ?? 0) delayed messages of this app")
        case .additions: .invalid("participants", reason: "names a user whom you have added to too many conversations within an hour")
        }
    }
}
