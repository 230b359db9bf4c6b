// SPDX-License-Identifier: Apache-2.0
// The Swift in Clients/StrataKit/StrataKit.docc. Do not edit: ArticleBlocksTests.swift says how it is made.

import Foundation
import StrataKit

enum ContentArticle {
    struct Block1 {
        func sendPicture(_ file: URL, in chat: Conversation, of client: StrataClient) async throws {
            let picture = try NewMessagePart(mimeType: "image/jpeg", fileURL: file)
            try await chat.send(client.newMessage(parts: [.text("Look"), picture]))
        }
    }

    struct Block2 {
        func showPicture(_ part: MessagePart, show: (Data) -> Void) async throws {
            if part.transferStatus == .readyForDownload { try await part.download() }
            show(try await part.loadData())
        }
    }

    struct Block3 {
        func makeClientForPictures(appID: String, server: URL) throws -> StrataClient {
            var content = ContentOptions(diskCapacity: 500_000_000)
            content.autodownloadMIMETypes = ["image/jpeg", "image/png"]
            content.autodownloadMaximumContentSize = 1_000_000
            return try StrataClient(appID: appID, options: .init(server: server, content: content))
        }
    }

    struct Block4 {
        @MainActor
        func showTransfers(of client: StrataClient, show: @escaping @MainActor (MessagePart, Double) -> Void) async {
            for await event in client.events {
                guard case .contentTransferBegan(let transfer) = event else { continue }
                Task { for await fraction in transfer.progress { show(transfer.part, fraction) } }
            }
        }
    }

    struct Block5 {
        func correct(_ message: Message, to text: String) async throws {
            try await message.replace(message.parts[0], with: .text(text))
        }
    }
}

enum GettingStartedArticle {
    struct Block1 {
        func makeClient(appID: String, server: URL) throws -> StrataClient {
            try StrataClient(appID: appID, options: .init(server: server))
        }
    }

    struct Block2 {
        func signIn(_ client: StrataClient, identityToken: (String) async throws -> String) async throws {
            if await client.currentSession?.state == .authenticated {
                do {
                    return try await client.connect()
                } catch let error as StrataError where error.code == .unauthenticated {}
            }
            let nonce = try await client.requestAuthenticationNonce()
            try await client.authenticate(identityToken: identityToken(nonce))
            try await client.connect()
        }
    }

    struct Block3 {
        func answerChallenges(of client: StrataClient, identityToken: (String) async throws -> String) async throws {
            for await nonce in client.authenticationChallenges {
                _ = try await client.authenticate(identityToken: identityToken(nonce))
            }
        }
    }

    struct Block4 {
        func useSession(of user: UserID, in client: StrataClient) async throws {
            if let known = await client.session(forUserID: user) { return try await client.switchSession(to: known) }
            try await client.switchSession(to: client.newSession(identifier: user.rawValue))
        }
    }

    struct Block5 {
        func sayHello(to friend: UserID, from client: StrataClient) async throws {
            let chat = try await client.newConversation(with: [friend], options: .init(metadata: ["title": "Lunch"]))
            try await chat.send(client.newMessage(parts: [.text("Hi")]))
        }
    }

    struct Block6 {
        func makeTeamRoom(for team: Set<UserID>, in client: StrataClient) async throws -> Conversation {
            try await client.newConversation(
                with: team, options: .init(isDistinct: false, deliveryReceipts: false, readReceipts: false))
        }
    }

    struct Block7 {
        func redecorate(_ chat: Conversation) async throws {
            try await chat.setMetadata("FFFFFF", at: "theme.background_color")
            try await chat.setMetadata(["title": "Dinner", "theme": ["text_color": "000000"]], merge: true)
            try await chat.deleteMetadata(at: "theme.font")
        }
    }

    struct Block8 {
        func title(of chat: Conversation) -> String { chat.metadata["title"] ?? "Conversation" }

        func textColor(of chat: Conversation) -> String? { chat.metadata[path: "theme.text_color"] }
    }

    struct Block9 {
        func userTyped(in chat: Conversation) async throws {
            try await chat.sendTypingIndicator(.begin)
        }

        func followTyping(in client: StrataClient, show: (TypingIndicator) -> Void) async {
            for await indicator in client.typingIndicators { show(indicator) }
        }
    }

    struct Block10 {
        func countChanges(of client: StrataClient, count: (Int) -> Void) async {
            for await batch in client.objectChanges { count(batch.count) }
        }
    }
}

enum HistoryArticle {
    struct Block1 {
        func makeClientForBrowsing(appID: String, server: URL) throws -> StrataClient {
            try StrataClient(appID: appID, options: .init(server: server, syncPolicy: .partialHistory(count: 50)))
        }
    }

    struct Block2 {
        func showOlderMessages(of chat: Conversation) async throws {
            try await chat.synchronizeMoreMessages(atLeast: 20)
        }

        func showAllUnreadMessages(of chat: Conversation) async throws {
            try await chat.synchronizeAllMessages(.toFirstUnread)
        }
    }

    struct Block3 {
        func showFetch(of chat: Conversation, show: (Double) -> Void) async throws {
            for await fraction in try await chat.synchronizeAllMessages(.all) { show(fraction) }
        }
    }
}

enum PortingFromLayerKitArticle {
    struct Block1 {
        func followSynchronization(of client: StrataClient, finished: (ConversationID) -> Void) async {
            for await event in client.events {
                if case .conversationSyncFinished(let id) = event { finished(id) }
            }
        }
    }
}

enum QueriesArticle {
    struct Block1 {
        func examples(in client: StrataClient, friend: UserID, chat: ConversationID) async throws {
            // All conversations, the one with the newest message first.
            let all = try await client.execute(Query<Conversation>(sortBy: [.descending(\.lastMessage.receivedAt)]))
            // One, by the id that was kept from an earlier start of the app.
            let known = try await client.conversation(chat)
            // How many have unread messages and a certain title.
            let lunches = try await client.count(
                Query<Conversation>(where: { $0.hasUnreadMessages == true && $0.metadata[path: "title"] == "Lunch" }))
            // The last 20 messages of a friend in a conversation.
            let last = try await client.execute(
                Query<Message>(
                    where: { $0.conversationID == chat && $0.sender.userID == friend },
                    sortBy: [.descending(\.position)], limit: 20))
            print(all.count, known?.metadata["title"] ?? "", lunches, last.count)
        }
    }

    struct Block2 {
        func followMessages(
            _ query: Query<Message>, in client: StrataClient, show: (ResultUpdate<Message>) -> Void
        ) async throws {
            let controller = try await client.queryController(query)
            try await controller.execute()
            for await update in await controller.updates { show(update) }
        }
    }
}

enum WorkingOfflineArticle {
    struct Block1 {
        func finish(_ client: StrataClient) async throws {
            while await client.pendingChangeCount > 0 { try await Task.sleep(for: .milliseconds(100)) }
            await client.close()
        }
    }

    struct Block2 {
        func work(offline client: StrataClient, _ body: () async throws -> Void) async throws {
            await client.disconnect()
            try await body()
            try await client.connect()
        }
    }

    struct Block3 {
        func reportFailures(of client: StrataClient, report: (StrataError) -> Void) async {
            for await event in client.events {
                if case .operationFailed(let failure) = event { report(failure.error) }
            }
        }
    }

    struct Block4 {
        func reportEarlierFailures(of client: StrataClient, report: (StrataError) -> Void) async throws {
            let failures = try await client.unconfirmedFailures()
            for failure in failures { report(failure.error) }
            try await client.confirmFailures(failures)
        }
    }

    struct Block5 {
        func openConversation(_ id: ConversationID, in client: StrataClient) async throws -> Conversation {
            try await client.waitForCreation(of: id, timeout: .seconds(10))
        }
    }
}
