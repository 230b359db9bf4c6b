// SPDX-License-Identifier: Apache-2.0

/// Functions for MIME types, which the library keeps as plain text.
enum MIMEType {
    /// The longest type that the server takes for content beside a message.
    static let longest = 255

    /// Whether a part may have this type: two words with one slash between them, without white space, at most ``longest`` characters of ASCII.
    static func isValid(_ text: String) -> Bool {
        let words = text.split(separator: "/", omittingEmptySubsequences: false)
        return words.count == 2 && words.allSatisfy { !$0.isEmpty } && text.utf8.count <= longest
            && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Whether parts of this type are sent as text if they are UTF-8.
    static func isText(_ text: String) -> Bool { text.lowercased().hasPrefix("text/") }

    /// Type and subtype in lower case, without parameters: `text/plain` for `Text/Plain;charset=utf-8`.
    static func essence(_ text: String) -> String { String(text.prefix { $0 != ";" && !$0.isWhitespace }).lowercased() }

    /// The extension of a file with content of this type. It has only small letters and digits, even if the sender's type has others.
    static func fileExtension(_ text: String) -> String {
        let essence = essence(text)
        if let known = extensions[essence] { return known }
        let parts = essence.split(separator: "/")
        guard parts.count == 2 else { return "bin" }
        let isDerivable = parts[1].utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) }
        return isDerivable && parts[1].utf8.count <= 8 ? String(parts[1]) : "bin"
    }

    private static let extensions = [
        "application/gzip": "gz", "application/javascript": "js", "application/msword": "doc", "application/octet-stream": "bin",
        "application/vnd.ms-excel": "xls", "application/vnd.ms-powerpoint": "ppt",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx", "application/x-tar": "tar", "audio/mp4": "m4a",
        "audio/mpeg": "mp3", "audio/x-wav": "wav", "image/jpeg": "jpg", "image/svg+xml": "svg", "image/tiff": "tif",
        "image/vnd.microsoft.icon": "ico",
        "text/calendar": "ics", "text/javascript": "js", "text/markdown": "md", "text/plain": "txt", "text/vcard": "vcf", "video/mpeg": "mpg",
        "video/quicktime": "mov", "video/x-msvideo": "avi",
    ]
}
