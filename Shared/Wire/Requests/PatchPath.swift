// SPDX-License-Identifier: Apache-2.0

/// The path of a property in a patch: segments joined by dots. Dots and backslashes in segments are escaped
/// (docs/conformance.md §14.3).
public enum PatchPath {
    /// Returns `segment` escaped for a path.
    public static func escape(_ segment: String) -> String {
        guard segment.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "\\") }) else {
            return segment
        }
        var out = ""
        out.reserveCapacity(segment.utf8.count + 8)
        for scalar in segment.unicodeScalars {
            if scalar == "." || scalar == "\\" { out.unicodeScalars.append("\\") }
            out.unicodeScalars.append(scalar)
        }
        return out
    }

    /// Returns the segments of `path`, or nil if a segment is empty or the last escape is incomplete.
    public static func segments(of path: String) -> [String]? {
        var segments: [String] = []
        var current = ""
        var isEscaped = false
        for scalar in path.unicodeScalars {
            if isEscaped {
                current.unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "." {
                guard !current.isEmpty else { return nil }
                segments.append(current)
                current = ""
            } else {
                current.unicodeScalars.append(scalar)
            }
        }
        guard !isEscaped, !current.isEmpty else { return nil }
        segments.append(current)
        return segments
    }
}
