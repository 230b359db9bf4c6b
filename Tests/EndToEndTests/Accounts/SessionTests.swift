// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("sessions")
    struct SessionTests {
        @Test("the end of a session closes its sockets, and no others, with 4401")
        func end() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let other = try await app.signIn("ana", via: 1)
            let (first, second, third) = (
                try await ana.open(via: 0), try await ana.open(via: 1), try await other.open()
            )
            let answer = try await ana.client.signOut(token: ana.token, deadline: Waiting.deadline)
            #expect(answer.status == 204)
            for socket in [first, second] {
                let closure = try await socket.waitForClose(deadline: Waiting.deadline)
                #expect(closure.code == 4401)
            }
            let check = try await ana.call("GET", "/?action=validateConnectionForWebsocket")
            #expect(check.status == 401)
            #expect(check.errorID == "authentication_required")
            #expect(try await third.ask("Counter.read").isSuccess)
            let again = try await ana.client.signOut(token: ana.token, deadline: Waiting.deadline)
            #expect(again.status == 204)
        }

        @Test("a 401 response contains a nonce that is valid for signing in")
        func nonceOfRefusal() async throws {
            let app = try await Cluster.shared().app()
            let client = app.system.client()
            let refused = try await client.call("GET", "/conversations", deadline: Waiting.deadline)
            #expect(refused.status == 401)
            let nonce = try #require(refused.json["data"]["nonce"].string)
            let token = try await app.identityToken("ana", nonce: nonce)
            let session = try await client.signIn(appID: app.id, identityToken: token, deadline: Waiting.deadline)
            let check = try await client.call("GET", "/", token: session, deadline: Waiting.deadline)
            #expect(check.status == 200)
            #expect(check.header("Link")?.contains("rel=conversations") == true)
        }

        @Test("a user's own identity and that of a user who never signed in are available at once")
        func identities() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let own = try await ana.does("GET", "/identities/ana").json
            #expect(own["display_name"].string == "Ana")
            #expect(own["metadata"] == [:])
            let stranger = try await ana.does("GET", "/identities/somebody%20else").json
            #expect(stranger["id"].string == "layer:///identities/somebody%20else")
            #expect(stranger["user_id"].string == "somebody else")
        }

        @Test("a socket without a session is refused with 401, one without a subprotocol with 406")
        func refusedSockets() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            var error = await #expect(throws: ProtocolClientError.self) {
                _ = try await ana.client.openSocket(sessionToken: "nobody", deadline: Waiting.deadline)
            }
            #expect(error?.answer?.status == 401)
            #expect(error?.answer?.json["data"]["nonce"].string != nil)
            var options = ProtocolSocket.Options()
            options.subprotocol = "layer-9.0"
            let strange = options
            error = await #expect(throws: ProtocolClientError.self) {
                _ = try await ana.client.openSocket(
                    sessionToken: ana.token, options: strange, deadline: Waiting.deadline)
            }
            #expect(error?.answer?.status == 406)
        }
    }
}
