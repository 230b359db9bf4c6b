// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A lookup of the process that listens on a TCP port of this machine, as far as permissions allow.
enum PortOwner {
    /// Returns `nginx (process 123)`, for example; nil if no process listens, or if its files are not readable for this
    /// user.
    static func listening(on port: Int) -> String? {
        // The kernel finds its place in the table by counting. A socket that closes between two reads may hide another
        // one, so a second attempt is made.
        find(port: port) ?? find(port: port)
    }

    private static func find(port: Int) -> String? {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].compactMap(wholeText(ofFile:))
        let sockets = Set(tables.flatMap { inodes(listeningOn: port, in: $0) }.map { "socket:[\($0)]" })
        guard !sockets.isEmpty else { return nil }
        let files = FileManager.default
        for pid in ((try? files.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap({ Int32($0) }) {
            let directory = "/proc/\(pid)/fd"
            let names = (try? files.contentsOfDirectory(atPath: directory)) ?? []
            guard
                names.contains(where: {
                    sockets.contains((try? files.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")) ?? "")
                })
            else {
                continue
            }
            let name = (try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8))?
                .trimmingCharacters(in: .whitespacesAndNewlines)
            return "\(name ?? "a program") (process \(pid))"
        }
        return nil
    }

    /// Reads a whole file. The kernel returns its tables one page at a time, and `String(contentsOfFile:)` stops at the
    /// first short read.
    private static func wholeText(ofFile path: String) -> String? {
        guard let file = FileHandle(forReadingAtPath: path), let bytes = try? file.readToEnd() else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the inodes of sockets in state LISTEN (`0A`) on a port, from the text of `/proc/net/tcp`.
    static func inodes(listeningOn port: Int, in table: String) -> [String] {
        let wanted = ":" + String(format: "%04X", port)
        return table.split(separator: "\n").dropFirst()
            .compactMap { line in
                let fields = line.split(separator: " ")
                guard fields.count > 9, fields[1].hasSuffix(wanted), fields[3] == "0A" else { return nil }
                return String(fields[9])
            }
    }
}
