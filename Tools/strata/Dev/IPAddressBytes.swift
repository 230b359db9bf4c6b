// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An IP address in network byte order, as in certificates: 4 or 16 bytes.
struct IPAddressBytes: Equatable {
    let bytes: [UInt8]

    /// Parses an address; nil if the text is a host name.
    init?(_ text: String) {
        var four = [UInt8](repeating: 0, count: 4)
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = four
            return
        }
        var sixteen = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &sixteen) == 1 else { return nil }
        bytes = sixteen
    }
}
