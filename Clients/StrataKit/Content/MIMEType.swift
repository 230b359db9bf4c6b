// SPDX-License-Identifier: Apache-2.0

/// Helpers for MIME types, which the library stores as plain text.
enum MIMEType {
    /// The maximum length of a MIME type that the server accepts for content, in bytes.
    static let longest = 255

    /// True if a part may have this type: two words separated by one slash, printable ASCII without white space, at
    /// most ``longest`` characters.
    static func isValid(_ text: String) -> Bool {
        let words = text.split(separator: "/", omittingEmptySubsequences: false)
        return words.count == 2 && words.allSatisfy { !$0.isEmpty } && text.utf8.count <= longest
            && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// True if parts of this type are sent as text, provided that their bytes are UTF-8.
    static func isText(_ text: String) -> Bool { text.lowercased().hasPrefix("text/") }

    /// Returns type and subtype in lower case, without parameters: `text/plain` for `Text/Plain;charset=utf-8`.
    static func essence(_ text: String) -> String { String(text.prefix { $0 != ";" && !$0.isWhitespace }).lowercased() }

    /// Returns the file name extension for content of this type. It contains only lower-case letters and digits,
    /// because the sender controls the type.
    static func fileExtension(_ text: String) -> String {
        let essence = essence(text)
        if let known = extensions[essence] { return known }
        let parts = essence.split(separator: "/")
        guard parts.count == 2 else { return "bin" }
        let isDerivable = parts[1].utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) }
        return isDerivable && parts[1].utf8.count <= 8 ? String(parts[1]) : "bin"
    }

    private static let extensions = [
        "application/gzip": "gz", "application/javascript": "js", "application/msword": "doc",
        "application/octet-stream": "bin",
        "application/vnd.ms-excel": "xls", "application/vnd.ms-powerpoint": "ppt",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx", "application/x-tar": "tar",
        "audio/mp4": "m4a",
        "audio/mpeg": "mp3", "audio/x-wav": "wav", "image/jpeg": "jpg", "image/svg+xml": "svg", "image/tiff": "tif",
        "image/vnd.microsoft.icon": "ico",
        "text/calendar": "ics", "text/javascript": "js", "text/markdown": "md", "text/plain": "txt",
        "text/vcard": "vcf", "video/mpeg": "mpg",
        "video/quicktime": "mov", "video/x-msvideo": "avi",
    ]
}
