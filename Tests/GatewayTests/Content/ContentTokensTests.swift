// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway

@Suite("content tokens")
struct ContentTokensTests {
    private let tokens = ContentTokens(clusterSecret: "a secret of these tests, and of nobody else")
    private let now = Fixture.time(0)
    private let upload = ContentTokens.Upload(
        id: .random(), size: 5_000_000_000, type: "application/vnd.layer.text+json;role=root")

    @Test("a token contains its purpose")
    func roundTrip() throws {
        let token = tokens.issue(upload, at: now)
        #expect(tokens.upload(token, at: now) == upload)
        let (download, expiry) = tokens.issueDownload(of: upload.id, at: now)
        #expect(tokens.download(download, at: now) == ContentTokens.Download(id: upload.id, expiresAt: expiry))
        for text in [token, download] {
            #expect(
                text.utf8.allSatisfy {
                    Character(Unicode.Scalar($0)).isLetter || Character(Unicode.Scalar($0)).isNumber
                        || "-_".utf8.contains($0)
                })
        }
    }

    @Test("a token of one kind, or of another installation, is not accepted as the other kind")
    func kinds() {
        let other = ContentTokens(clusterSecret: "a secret of somebody else entirely, as long as ours")
        let (token, download) = (tokens.issue(upload, at: now), tokens.issueDownload(of: upload.id, at: now).token)
        #expect(tokens.download(token, at: now) == nil)
        #expect(tokens.upload(download, at: now) == nil)
        #expect(other.upload(token, at: now) == nil)
        #expect(other.download(download, at: now) == nil)
    }

    @Test("every modified token is invalid")
    func tampering() {
        for token in [tokens.issue(upload, at: now), tokens.issueDownload(of: upload.id, at: now).token] {
            let characters = Array(token)
            for index in characters.indices {
                var changed = characters
                changed[index] = changed[index] == "A" ? "B" : "A"
                #expect(tokens.upload(String(changed), at: now) == nil)
                #expect(tokens.download(String(changed), at: now) == nil)
            }
            for text in [
                String(token.dropLast()), token + "A", "", "A", String(repeating: "A", count: 5000), "ü", token + "=",
            ] {
                #expect(tokens.upload(text, at: now) == nil)
                #expect(tokens.download(text, at: now) == nil)
            }
        }
    }

    @Test("an upload token is valid for a day")
    func uploadExpiry() {
        let token = tokens.issue(upload, at: now)
        #expect(tokens.upload(token, at: now.advanced(by: .seconds(86_399))) != nil)
        #expect(tokens.upload(token, at: now.advanced(by: .seconds(86_400))) == nil)
    }

    @Test(
        "a download token is valid for one to two hours, and its URL stays stable for a while",
        arguments: [0, 1, 1799, 3599, 3600, 3601])
    func downloadExpiry(_ second: Int64) {
        let start = Fixture.time(second)
        let (token, expiry) = tokens.issueDownload(of: upload.id, at: start)
        let lifetime = (expiry.microseconds - start.microseconds) / 1_000_000
        #expect((3600...7200).contains(lifetime))
        #expect(tokens.download(token, at: expiry.advanced(by: .seconds(-1))) != nil)
        #expect(tokens.download(token, at: expiry) == nil)
        // The URL changes when one hour of its validity is left.
        #expect(tokens.issueDownload(of: upload.id, at: expiry.advanced(by: .seconds(-3601))).token == token)
        #expect(tokens.issueDownload(of: upload.id, at: expiry.advanced(by: .seconds(-3600))).token != token)
    }
}
