// SPDX-License-Identifier: Apache-2.0
import Foundation
import ServiceKit
import Testing

@testable import Gateway

@Suite("settings of an object store")
struct S3ValueTests {
    private func parsed(_ text: String) -> S3Location? { S3Location(text, region: "eu-central-1") }

    @Test(
        "a URL names the bucket, its place, and the beginning of keys",
        arguments: [
            ("s3://bucket", "https://bucket.s3.eu-central-1.amazonaws.com/k"),
            ("s3://bucket/", "https://bucket.s3.eu-central-1.amazonaws.com/k"),
            ("s3://bucket/a/b", "https://bucket.s3.eu-central-1.amazonaws.com/a/b/k"),
            ("s3://my.bucket/a/", "https://s3.eu-central-1.amazonaws.com/my.bucket/a/k"),
            ("s3+https://minio.example.org/bucket", "https://minio.example.org/bucket/k"),
            ("s3+http://127.0.0.1:9000/bucket/a", "http://127.0.0.1:9000/bucket/a/k"),
            ("s3+https://store:8443/bucket/a?style=path", "https://store:8443/bucket/a/k"),
            ("s3+https://store:8443/bucket/a?style=host", "https://bucket.store:8443/a/k"),
            ("s3+https://store:443/bucket", "https://store/bucket/k"),
            ("s3+http://store:80/bucket", "http://store/bucket/k"),
            ("s3+http://store:443/bucket", "http://store:443/bucket/k"),
        ])
    func locations(_ text: String, _ expected: String) throws {
        let location = try #require(parsed(text))
        #expect(location.url(location.path(of: "\(location.prefix)k"), query: "") == expected)
    }

    @Test("the path of a bucket is the root in host style")
    func bucketPath() {
        #expect(parsed("s3://bucket/a")?.bucketPath == "/")
        #expect(parsed("s3+http://store/bucket/a")?.bucketPath == "/bucket")
    }

    @Test(
        "other texts are no place of content",
        arguments: [
            "", "bucket", "s3://", "s3:///a", "s3://b", "s3://Bucket", "s3://bu_cket", "s3://bucket/../a",
            "s3://bucket/a b", "s3://bucket/ä", "s3://bucket?style=host", "s3://bucket?region=x",
            "https://store/bucket",
            "s3+https://store", "s3+https:///bucket", "s3+https://store:0/bucket", "s3+https://store:70000/bucket",
            "s3+https://key:secret@store/bucket", "s3+https://store/bucket?style=x", "s3+ftp://store/bucket",
        ])
    func refused(_ text: String) {
        #expect(parsed(text) == nil)
    }

    private let given = [
        "STRATA_CONTENT_URL": "s3+https://store/bucket", "STRATA_CONTENT_ACCESS_KEY": "key-id",
        "STRATA_CONTENT_SECRET_KEY": "the secret of the access key",
    ]

    private func read(_ more: [String: String] = [:]) throws -> S3Settings? {
        try S3Settings(Settings(environment: given.merging(more) { $1 }))
    }

    @Test("the settings have defaults, and without a URL there is no store")
    func defaults() throws {
        let settings = try #require(try read())
        #expect(settings.region == "us-east-1")
        #expect(settings.redirects)
        #expect(settings.trustedRoots == [])
        #expect(try read(["STRATA_CONTENT_URL": ""]) == nil)
        #expect(try read(["STRATA_CONTENT_URL": "s3+http://store/bucket"])?.redirects == false)
        let chosen = ["STRATA_CONTENT_REDIRECT": "false", "STRATA_CONTENT_REGION": "eu-west-1"]
        #expect(try read(chosen)?.redirects == false)
        #expect(try read(chosen)?.region == "eu-west-1")
    }

    @Test(
        "a missing or wrong setting is named",
        arguments: [
            ("STRATA_CONTENT_URL", "https://store/bucket"), ("STRATA_CONTENT_ACCESS_KEY", ""),
            ("STRATA_CONTENT_SECRET_KEY", ""), ("STRATA_CONTENT_REDIRECT", "perhaps"),
            ("STRATA_CONTENT_CA", "/nonexistent/ca.pem"),
        ])
    func wrong(_ key: String, _ value: String) {
        let error = #expect(throws: SettingsError.self) { try read([key: value]) }
        #expect(error?.key == key)
    }

    @Test("content is at most as large as a store can hold in 10,000 parts")
    func largest() throws {
        let tooLarge = ["STRATA_CONTENT_MAX_BYTES": "83886080001"]
        let error = #expect(throws: SettingsError.self) {
            try GatewaySettings.Content(Settings(environment: given.merging(tooLarge) { $1 }))
        }
        #expect(error?.key == "STRATA_CONTENT_MAX_BYTES")
        #expect(try GatewaySettings.Content(Settings(environment: tooLarge)).maxBytes == 83_886_080_001)
    }

    @Test("printed settings do not show the secret key")
    func printed() throws {
        let settings = try #require(try read())
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!"\(settings)\(String(reflecting: settings))\(dumped)".contains("the secret of the access key"))
    }

    @Test("elements of XML are found by their names, with their entities")
    func xml() {
        let xml = S3XML(
            """
            <?xml version="1.0"?><List xmlns="x"><Uploads>no</Uploads><Upload id="1"><Key>a&amp;b&#60;&#x3e;</Key></Upload>\
            <Upload><Key>&quot;c&apos;&unknown;&</Key></Upload><Empty/><Upload/></List>
            """)
        #expect(xml.all("Upload").map { $0.first("Key") } == ["a&b<>", "\"c'&unknown;&", nil])
        #expect(xml.first("Uploads") == "no")
        #expect(xml.first("Empty") == "")
        #expect(xml.first("Missing") == nil)
        #expect(S3XML("<Code>unfinished").first("Code") == "")
        #expect(S3XML("<Code").first("Code") == nil)
        #expect(S3XML("<a>\(S3XML.escaped("<&>\""))</a>").first("a") == "<&>\"")
    }
}
