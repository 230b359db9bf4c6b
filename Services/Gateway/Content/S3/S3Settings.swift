// SPDX-License-Identifier: Apache-2.0
import NIOSSL
import ServiceKit

/// The settings of rich content in an S3-compatible store.
///
/// | Setting | Default | Meaning |
/// |---|---|---|
/// | `STRATA_CONTENT_URL` | none | bucket and prefix (``S3Location``); enables the store |
/// | `STRATA_CONTENT_ACCESS_KEY` | required | id of the access key |
/// | `STRATA_CONTENT_SECRET_KEY` | required, secret | secret of the access key |
/// | `STRATA_CONTENT_REGION` | `us-east-1` | region for which requests are signed |
/// | `STRATA_CONTENT_REDIRECT` | `false` for `s3+http://`, otherwise `true` | clients download from the store itself |
/// | `STRATA_CONTENT_CA` | none | PEM file of further trusted authorities |
struct S3Settings: Sendable {
    let location: S3Location
    let accessKey: String
    let secretKey: Secret<String>
    var region = "us-east-1"
    var redirects = true
    var trustedRoots: [NIOSSLCertificate] = []

    init(location: S3Location, accessKey: String, secretKey: Secret<String>) {
        self.location = location
        self.accessKey = accessKey
        self.secretKey = secretKey
    }

    /// Reads the settings. Nil if no store is configured.
    /// - Throws: `SettingsError`, which names the environment variable.
    init?(_ settings: Settings) throws {
        guard let url = try settings.optionalString("STRATA_CONTENT_URL") else { return nil }
        region = try settings.string("STRATA_CONTENT_REGION", default: region)
        guard let location = S3Location(url, region: region) else {
            throw SettingsError(
                key: "STRATA_CONTENT_URL", problem: .invalid,
                expected: "s3://bucket[/prefix] or s3+https://host[:port]/bucket[/prefix]")
        }
        self.location = location
        accessKey = try settings.string("STRATA_CONTENT_ACCESS_KEY", expected: "the id of an access key")
        secretKey = try settings.secret("STRATA_CONTENT_SECRET_KEY")
        // An http:// URL would show content to the clients' networks.
        redirects = try settings.bool("STRATA_CONTENT_REDIRECT", default: location.isTLS)
        if let path = try settings.optionalString("STRATA_CONTENT_CA") {
            do {
                trustedRoots = try NIOSSLCertificate.fromPEMFile(path)
            } catch {
                throw SettingsError(
                    key: "STRATA_CONTENT_CA", problem: .invalid, expected: "the path of a readable PEM file")
            }
        }
    }
}
