// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A network interface whose other end is this process: what the kernel sends there is read here, and what is written here it receives.
///
/// It goes with the process, wherever it was moved to.
struct TunDevice: Sendable {
    /// As `ip link` calls it.
    let name: String
    let descriptor: Int32

    /// Makes one. Needs the right to (`CAP_NET_ADMIN`).
    init(_ name: String) throws {
        self.name = name
        descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw NetworkError("/dev/net/tun: \(String(cString: strerror(errno)))") }
        // struct ifreq: the name in 16 bytes, then the flags.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<min(15, name.utf8.count), with: name.utf8.prefix(15))
        // IFF_TUN | IFF_NO_PI: IP packets, and nothing before them.
        let flags = UInt16(0x0001 | 0x1000)
        withUnsafeBytes(of: flags) { request.replaceSubrange(16..<18, with: $0) }
        let tunSetInterface = UInt(0x4004_54ca)
        guard request.withUnsafeMutableBytes({ bytes in bytes.baseAddress.map { ioctl(descriptor, tunSetInterface, $0) } }) == 0 else {
            let reason = String(cString: strerror(errno))
            Glibc.close(descriptor)
            throw NetworkError("the interface \(name) cannot be made: \(reason)")
        }
    }

    /// The next packet that the kernel has sent; nil if there is none now.
    func read() -> [UInt8]? {
        let packet = [UInt8](unsafeUninitializedCapacity: 2048) { buffer, count in
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
        }
        return packet.isEmpty ? nil : packet
    }

    /// Hands the kernel a packet. What it does not take is lost, as on any network.
    func write(_ packet: [UInt8]) { _ = Glibc.write(descriptor, packet, packet.count) }

    func close() { Glibc.close(descriptor) }
}

/// The network could not be made.
package struct NetworkError: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
