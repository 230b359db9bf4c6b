// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The body of `POST /apps/:app/webhooks`.
public struct WebhookBody: Hashable, Sendable {
    /// The maximum length of a URL, in Unicode scalars.
    public static let urlScalars = 2048
    /// The maximum length of a secret, in bytes.
    public static let secretBytes = 1024
    /// The maximum number of event names.
    public static let eventNames = 64
    /// The maximum number of config entries, and the maximum length of each name and value, in bytes.
    public static let configEntries = 32, configBytes = 2048

    /// The version of the payloads.
    public var version: WebhookVersion
    /// The receiver's URL. The webhooks service checks whether it can be used.
    public var targetURL: String
    /// The released names of the subscribed events, at least one, defined in the version.
    public var events: [String]
    /// The secret that signs the payloads.
    public var secret: String
    /// The app's key-value pairs that are sent with each event.
    public var config: [String: String]

    /// Parses the body.
    /// - Throws: ``Failure`` naming the invalid property. Missing properties are reported before invalid ones.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        let versionText = try members.requiredString("version")
        targetURL = try members.requiredString("target_url")
        let names: StaticString = members["events"] == nil && members["event_types"] != nil ? "event_types" : "events"
        guard let elements = try members.array(names) else { throw members.missing("events") }
        secret = try members.requiredString("secret")
        guard let version = WebhookVersion(rawValue: versionText) else {
            throw members.invalid("version", reason: "must be 1.0, 2.0 or 3.0")
        }
        self.version = version
        guard (1...Self.urlScalars).contains(targetURL.unicodeScalars.count) else {
            throw members.invalid("target_url", reason: "must have from 1 to \(Self.urlScalars) characters")
        }
        guard (1...Self.secretBytes).contains(secret.utf8.count), !secret.utf8.contains(0) else {
            throw members.invalid(
                "secret", reason: "must have from 1 to \(Self.secretBytes) bytes, and no NUL character")
        }
        events = try Self.events(elements, in: "\(names)", version: version)
        config = try Self.config(members)
    }

    private static func events(
        _ elements: [JSONValue], in property: String, version: WebhookVersion
    ) throws(Failure) -> [String] {
        guard elements.count <= eventNames else {
            throw .invalid(property, reason: "has more than \(eventNames) names")
        }
        var events: [String] = []
        for (index, element) in elements.enumerated() {
            guard let name = element.stringValue.map({ WebhookEventKind.released(name: $0, in: version) }),
                WebhookEventKind.kinds(named: name, in: version) != nil
            else {
                throw .invalid("\(property).\(index)", reason: "is not an event of version \(version.rawValue)")
            }
            if !events.contains(name) { events.append(name) }
        }
        guard !events.isEmpty else { throw .invalid(property, reason: "must name at least one event") }
        return events
    }

    private static func config(_ members: Members) throws(Failure) -> [String: String] {
        let property: StaticString = members["config"] == nil ? "target_config" : "config"
        guard let value = members[property] else { return [:] }
        guard let entries = value.objectValue else { throw members.invalid(property, reason: "must be an object") }
        guard entries.count <= configEntries else {
            throw members.invalid(property, reason: "has more than \(configEntries) entries")
        }
        var config: [String: String] = [:]
        for entry in entries where !entry.value.isNull {
            guard let text = entry.value.stringValue, text.utf8.count <= configBytes,
                entry.name.utf8.count <= configBytes,
                !text.utf8.contains(0), !entry.name.utf8.contains(0)
            else {
                throw members.invalid(property, reason: "must contain only strings of at most \(configBytes) bytes")
            }
            config[entry.name] = text
        }
        return config
    }
}
