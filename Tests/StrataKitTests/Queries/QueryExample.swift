// SPDX-License-Identifier: Apache-2.0

@testable import StrataKit

extension QueryStore {
    /// Adds three users, five conversations (the fifth is not visible), five messages and three announcements (the
    /// third is not visible).
    func fillWithExample() throws {
        try addIdentities()
        try addConversation(
            1, ["ana", "me"], created: 10, isDistinct: true, metadata: ["title": "Lunch", "theme.color": "red"])
        try addConversation(2, ["ana", "ben", "me"], created: 20, metadata: ["theme.color": "blue"])
        try addConversation(3, ["me"], created: 30, isDistinct: true)
        try addConversation(4, [], created: 40, metadata: ["title": "Lunch"])
        try addConversation(
            5, ["ana", "me"], created: 50, isDistinct: true, metadata: ["title": "Hidden"], isVisible: false)
        try addMessages()
        try addAnnouncement(
            1, from: "ana", sent: 10, received: 11, isUnread: true, parts: [.init(type: "text/plain", size: 2)])
        try addAnnouncement(
            2, from: nil, sent: 20, received: 22, parts: [.init(type: "image/png", size: 50, status: .readyForDownload)]
        )
        try addAnnouncement(3, from: "ana", sent: 20, received: 22, isUnread: true, isVisible: false)
        try finish()
    }

    private func addIdentities() throws {
        try addIdentity(
            "ana",
            [
                "display_name": "Ana", "first_name": "Ana", "last_name": "López", "email_address": "ana@example.com",
                "phone_number": "+51",
                "avatar_url": "https://example.com/ana", "public_key": "key", "is_followed": 1,
                "presence_status": "available",
                "metadata": StoreCoding.text(["team": "red", "office.city": "Lima"]), "last_seen_at": 100_000_000,
            ])
        try addIdentity(
            "ben",
            [
                "display_name": "Ben", "first_name": "Ben", "last_name": "Odd_%", "email_address": "BEN@EXAMPLE.COM",
                "phone_number": "+52",
                "avatar_url": "https://example.com/ben", "public_key": "other", "is_blocked": 1,
                "metadata": StoreCoding.text(["team": "blue"]),
                "last_seen_at": 200_000_000,
            ])
        try addIdentity("me", ["presence_status": "busy"])
    }

    private func addMessages() throws {
        let (text, picture) = ("text/plain", "image/png")
        try addMessage(
            1, in: 1, position: 8192, from: "ana", sent: 100, received: 110, parts: [.init(type: text, size: 5)])
        try addMessage(
            2, in: 1, position: 16384, from: "me", sent: 120, received: 120,
            parts: [.init(type: text, size: 3), .init(type: picture, size: 9000, status: .readyForDownload)])
        try addMessage(
            3, in: 2, position: 24576, from: "ben", sent: 200, received: 210, isUnread: true,
            parts: [.init(type: picture, size: 100)])
        try addMessage(
            4, in: 2, position: nil, from: "me", sent: 230, received: 230,
            parts: [.init(type: text, size: 4, status: .uploading)])
        try addMessage(
            5, in: 4, position: 32768, from: nil, sent: 50, received: 240, isUnread: true,
            parts: [.init(type: "text/html", size: 7)])
    }
}
