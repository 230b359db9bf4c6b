// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import StrataWire

@Suite struct ReceiptAudienceTests {
    private func packets(
        _ content: Change.Content, for reader: UserID, counts: [UserID: UserCounts] = [:]
    ) -> [JSONValue] {
        let change = sampleChange(content, counts: counts)
        return renderer.tails(for: change, variant: Variant(of: change, for: reader, version: .v3))
            .map { packet($0, reader: reader) }
    }

    @Test("receipts of a large conversation are sent to the sender and the reader only")
    func narrow() {
        let receipts = [
            Change.Receipt(
                user: ben.userID, messageID: messageID, ordinal: 1, status: .read, sender: ana.userID,
                audience: .senderAndReader),
            Change.Receipt(
                user: ben.userID, messageID: MessageID(rawValue: uuid(partUUID)), ordinal: 2, status: .read,
                sender: cleo.userID, audience: .reader),
        ]
        let counts = [ben.userID: UserCounts(excluded: 1, hidden: 0, position: Position(7))]
        let told = packets(.receipts(receipts), for: ben.userID, counts: counts)
        #expect(told.count == 3 && told.last?["body"]?["data"]?[0]?["property"] == .string("unread_message_count"))
        let toAna = packets(.receipts(receipts), for: ana.userID, counts: counts)
        #expect(
            toAna.count == 1 && toAna.first?["body"]?["object"]?["id"] == .string("layer:///messages/\(messageUUID)"))
        #expect(packets(.receipts(receipts), for: cleo.userID, counts: counts).isEmpty)
    }

    @Test("a read of all messages is sent to the named users and the reader")
    func allRead() {
        let content = Change.Content.allRead(user: ben.userID, upTo: Position(5), audience: [ana.userID])
        #expect(packets(content, for: ben.userID).count == 2)
        #expect(packets(content, for: ana.userID).map { $0["type"] } == [.string("operation")])
        #expect(packets(content, for: cleo.userID).isEmpty)
    }

    @Test("with receipts disabled, readers see only their own status, and the sender the permitted ones")
    func switchedOff() {
        var message = sampleMessage(recipients: [
            .init(userID: ana.userID, status: .read), .init(userID: ben.userID, status: .read, shownStatus: .delivered),
            .init(userID: cleo.userID, status: .delivered, shownStatus: .sent),
        ])
        message.receiptPolicy = [.noDelivery, .noRead]
        func shown(_ reader: UserID) -> JSONValue? {
            written { renderer.writeMessage(message, for: reader, version: .v3, into: &$0) }["recipient_status"]
        }
        #expect(
            shown(ana.userID)
                == json(
                    #"{"layer:///identities/ana":"read","layer:///identities/ben.o":"delivered","layer:///identities/cleo":"sent"}"#
                ))
        #expect(shown(ben.userID) == json(#"{"layer:///identities/ana":"read","layer:///identities/ben.o":"read"}"#))
        #expect(
            shown(cleo.userID) == json(#"{"layer:///identities/ana":"read","layer:///identities/cleo":"delivered"}"#))
    }
}
