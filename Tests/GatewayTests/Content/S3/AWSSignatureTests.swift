// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import StrataModel
import Testing

@testable import Gateway

/// The examples that AWS publishes for S3, "Authenticating Requests: Using the Authorization Header" and "… Using Query
/// Parameters".
@Suite("AWS signatures")
struct AWSSignatureTests {
    private let signature = AWSSignature(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1")
    /// 2013-05-24T00:00:00Z.
    private let time = Timestamp(microseconds: 1_369_353_600_000_000)
    private let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    private func request(
        _ method: String, _ path: String, query: [String: String] = [:], headers: [String: String] = [:]
    ) -> AWSSignature.Request {
        AWSSignature.Request(
            method: method, host: "examplebucket.s3.amazonaws.com", path: path, query: query, headers: headers)
    }

    private func check(
        _ request: AWSSignature.Request, body: String = "", names: String, _ expected: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let signed = signature.headers(for: request, payloadHash: AWSSignature.hash(body.utf8), at: time)
        #expect(
            signed["authorization"] == """
                AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
                SignedHeaders=\(names), Signature=\(expected)
                """, sourceLocation: sourceLocation)
        #expect(signed["x-amz-date"] == "20130524T000000Z", sourceLocation: sourceLocation)
    }

    @Test("signed requests have the published signatures")
    func headers() {
        check(
            request("GET", "/test.txt", headers: ["range": "bytes=0-9"]),
            names: "host;range;x-amz-content-sha256;x-amz-date",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        check(
            request(
                "PUT", "/test$file.text",
                headers: ["date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"]),
            body: "Welcome to Amazon S3.", names: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
        check(
            request("GET", "/", query: ["lifecycle": ""]), names: "host;x-amz-content-sha256;x-amz-date",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        check(
            request("GET", "/", query: ["prefix": "J", "max-keys": "2"]), names: "host;x-amz-content-sha256;x-amz-date",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test("the canonical request is the published one")
    func canonical() {
        var signed = request("GET", "/test.txt", headers: ["range": "bytes=0-9"])
        signed.headers["x-amz-content-sha256"] = empty
        signed.headers["x-amz-date"] = "20130524T000000Z"
        #expect(
            AWSSignature.canonical(signed, payloadHash: AWSSignature.hash([])) == """
                GET
                /test.txt

                host:examplebucket.s3.amazonaws.com
                range:bytes=0-9
                x-amz-content-sha256:\(empty)
                x-amz-date:20130524T000000Z

                host;range;x-amz-content-sha256;x-amz-date
                \(empty)
                """)
    }

    @Test("a presigned URL has the published query")
    func presigned() {
        #expect(
            signature.presignedQuery(for: request("GET", "/test.txt"), lifetime: 86_400, at: time) == """
                X-Amz-Algorithm=AWS4-HMAC-SHA256\
                &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
                &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
                &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404
                """)
    }

    @Test("texts are percent-encoded as AWS prescribes, and queries are sorted by encoded name")
    func encoding() {
        #expect(AWSSignature.encoded("a-b_c.d~e/f g+h=ü") == "a-b_c.d~e%2Ff%20g%2Bh%3D%C3%BC")
        #expect(AWSSignature.encoded("/a b/c", keeping: "/") == "/a%20b/c")
        #expect(AWSSignature.encoded(["a-b": "2", "a": "1", "Z": "", "é": "&"]) == "%C3%A9=%26&Z=&a=1&a-b=2")
    }
}
