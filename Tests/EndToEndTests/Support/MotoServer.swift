// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import Gateway

/// An S3 server that is not ours: moto (scripts/requirements.txt). It ends with the test process.
struct MotoServer: Sendable {
    static let bucket = "rich-content"
    /// The secret key that gateways use.
    static let secret = "a secret of these tests"

    /// The path of the program; nil if it is not installed.
    static let program: String? = {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        let venv =
            ProcessInfo.processInfo.environment["STRATA_VENV"] ?? root.path(percentEncoded: false) + ".build/venv"
        return try? Programs.find(
            "moto_server", path: "\(venv)/bin:\(ProcessInfo.processInfo.environment["PATH"] ?? "")")
    }()

    let port: Int
    private let client: ProtocolClient
    private let child: ChildProcess

    /// Runs `body` with a server that has an empty bucket.
    static func with(
        port: Int? = nil, hasBucket: Bool = true, _ body: (MotoServer) async throws -> Void
    ) async throws {
        let server = try await start(port: port)
        do {
            if hasBucket { try await server.makeBucket() }
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// - Parameter port: The port; nil: any free port.
    private static func start(port: Int?) async throws -> MotoServer {
        let port = try port ?? LoopbackPort.free()
        let log = try TestDirectory.make("moto") + "/log"
        let child = try await ChildProcess.start(
            Launch(
                try #require(program), arguments: ["-H", "127.0.0.1", "-p", "\(port)"], deathSignal: .kill,
                output: .append(to: log)))
        let server = MotoServer(
            port: port, client: try ProtocolClient(baseURL: "http://127.0.0.1:\(port)"), child: child)
        try await eventually("moto answers: \(LogTail.last(8, of: log))") {
            (try? await server.ask("GET", "/moto-api/data.json"))?.isSuccess == true
        }
        return server
    }

    func stop() async {
        await child.stop(SIGKILL)
        try? await client.shutdown()
    }

    func makeBucket() async throws {
        let answer = try await ask("PUT", "/\(Self.bucket)", Data())
        try #require(answer.isSuccess, "\(answer.status)")
    }

    /// The value of `STRATA_CONTENT_URL` without a prefix.
    var url: String { Self.url(port: port) }

    static func url(port: Int) -> String { "s3+http://127.0.0.1:\(port)/\(bucket)" }

    /// The settings of gateways.
    var settings: [String: String] {
        [
            "STRATA_CONTENT_URL": "\(url)/of/strata",
            "STRATA_CONTENT_ACCESS_KEY": "key", "STRATA_CONTENT_SECRET_KEY": Self.secret,
        ]
    }

    /// Returns true if uploads in parts are in progress.
    func hasUploads() async throws -> Bool {
        let answer = try await ask("GET", "/\(Self.bucket)?uploads")
        return !S3XML(String(decoding: answer.body, as: UTF8.self)).all("Upload").isEmpty
    }

    /// Returns the keys of all objects.
    func keys() async throws -> [String] {
        let answer = try await ask("GET", "/\(Self.bucket)?list-type=2")
        return S3XML(String(decoding: answer.body, as: UTF8.self)).all("Contents").compactMap { $0.first("Key") }
    }

    /// Lets the server check all signatures and permissions from now on. It cannot check queries with a slash, so keys
    /// have no prefix.
    /// - Returns: An access key with the permissions that docs/operating.md names.
    func requireSignatures() async throws -> (id: String, secret: String) {
        let place = "arn:aws:s3:::\(Self.bucket)"
        let policy = """
            {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Resource": "\(place)/*",
            "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]},
            {"Effect": "Allow", "Resource": "\(place)",
            "Action": ["s3:ListBucket", "s3:ListBucketMultipartUploads"]}]}
            """
        _ = try await manage("CreateUser", [:])
        _ = try await manage("PutUserPolicy", ["PolicyName": "content", "PolicyDocument": policy])
        let key = try await manage("CreateAccessKey", [:])
        let answer = try await ask("POST", "/moto-api/reset-auth", Data("0".utf8))
        try #require(answer.isSuccess)
        return (
            try #require(key.first("AccessKeyId")), try #require(key.first("SecretAccessKey"))
        )
    }

    /// Makes a call of AWS's user management.
    private func manage(_ action: String, _ parameters: [String: String]) async throws -> S3XML {
        let form = parameters.merging(["Action": action, "Version": "2010-05-08", "UserName": "strata"]) { $1 }
        let answer = try await ask(
            "POST", "/", Data(AWSSignature.encoded(form).utf8),
            headers: [
                "Content-Type": "application/x-www-form-urlencoded",
                // The server finds the service in it.
                "Authorization": "AWS4-HMAC-SHA256 Credential=x/20200101/us-east-1/iam/aws4_request, Signature=x",
            ])
        try #require(answer.isSuccess, "\(action): \(answer.status)")
        return S3XML(String(decoding: answer.body, as: UTF8.self))
    }

    private func ask(
        _ method: String, _ path: String, _ data: Data? = nil, headers: [String: String] = [:]
    ) async throws -> RESTResponse {
        try await client.call(
            method, path, data: data, headers: ["Accept": "", "Content-Type": ""].merging(headers) { $1 },
            deadline: Waiting.deadline)
    }
}
