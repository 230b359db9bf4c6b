// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A network interface whose other end is this process. Packets from the kernel are read here, and packets written here
/// reach the kernel.
///
/// The interface is removed with the process, even if it was moved to another namespace.
struct TunDevice: Sendable {
    /// The interface's name in `ip link`.
    let name: String
    let descriptor: Int32

    /// Creates an interface. Requires `CAP_NET_ADMIN`.
    init(_ name: String) throws {
        self.name = name
        descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw NetworkError("/dev/net/tun: \(String(cString: strerror(errno)))") }
        // struct ifreq: the name in 16 bytes, then the flags.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<min(15, name.utf8.count), with: name.utf8.prefix(15))
        // IFF_TUN | IFF_NO_PI: IP packets without a header before them.
        let flags = UInt16(0x0001 | 0x1000)
        withUnsafeBytes(of: flags) { request.replaceSubrange(16..<18, with: $0) }
        let tunSetInterface = UInt(0x4004_54ca)
        guard
            request.withUnsafeMutableBytes({ bytes in bytes.baseAddress.map { ioctl(descriptor, tunSetInterface, $0) } }
            ) == 0
        else {
            let reason = String(cString: strerror(errno))
            Glibc.close(descriptor)
            throw NetworkError("the interface \(name) cannot be made: \(reason)")
        }
    }

    /// Returns the next packet from the kernel; nil if there is none.
    func read() -> [UInt8]? {
        let packet = [UInt8](unsafeUninitializedCapacity: 2048) { buffer, count in
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
        }
        return packet.isEmpty ? nil : packet
    }

    /// Passes a packet to the kernel. A rejected packet is lost, as on any network.
    func write(_ packet: [UInt8]) { _ = Glibc.write(descriptor, packet, packet.count) }

    func close() { Glibc.close(descriptor) }
}

package struct NetworkError: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
