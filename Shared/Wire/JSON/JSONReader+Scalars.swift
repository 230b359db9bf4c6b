// SPDX-License-Identifier: Apache-2.0

extension JSONReader {
    /// Reads a string. `index` is at its opening quote.
    mutating func string() throws(JSONError) -> String {
        index += 1
        let start = index
        while index < count {
            let byte = base[index]
            if byte == UInt8(ascii: "\"") {
                let text = UnsafeBufferPointer(start: base + start, count: index - start)
                index += 1
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw JSONError(.invalidUTF8, at: start)
                }
                return string
            }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
            if byte < 0x20 { throw JSONError(.controlCharacter, at: index) }
            index += 1
        }
        throw JSONError(.unexpectedEnd, at: count)
    }

    /// Reads the rest of a string whose first escape begins at `index`.
    private mutating func escapedString(from start: Int) throws(JSONError) -> String {
        var out = [UInt8](UnsafeBufferPointer(start: base + start, count: index - start))
        while index < count {
            let byte = base[index]
            if byte == UInt8(ascii: "\"") {
                index += 1
                guard let string = String(validating: out, as: UTF8.self) else {
                    throw JSONError(.invalidUTF8, at: start)
                }
                return string
            }
            if byte < 0x20 { throw JSONError(.controlCharacter, at: index) }
            if byte == UInt8(ascii: "\\") {
                try escape(into: &out)
            } else {
                out.append(byte)
                index += 1
            }
        }
        throw JSONError(.unexpectedEnd, at: count)
    }

    private mutating func escape(into out: inout [UInt8]) throws(JSONError) {
        guard index + 1 < count else { throw JSONError(.unexpectedEnd, at: count) }
        let simple: UInt8
        switch base[index + 1] {
        case UInt8(ascii: "\""): simple = 0x22
        case UInt8(ascii: "\\"): simple = 0x5c
        case UInt8(ascii: "/"): simple = 0x2f
        case UInt8(ascii: "b"): simple = 0x08
        case UInt8(ascii: "f"): simple = 0x0c
        case UInt8(ascii: "n"): simple = 0x0a
        case UInt8(ascii: "r"): simple = 0x0d
        case UInt8(ascii: "t"): simple = 0x09
        case UInt8(ascii: "u"): return try unicodeEscape(into: &out)
        default: throw JSONError(.invalidEscape, at: index)
        }
        out.append(simple)
        index += 2
    }

    private mutating func unicodeEscape(into out: inout [UInt8]) throws(JSONError) {
        let place = index
        var code = try hexadecimal(at: place + 2)
        index = place + 6
        if code & 0xfc00 == 0xd800 {
            guard index + 1 < count, base[index] == UInt8(ascii: "\\"), base[index + 1] == UInt8(ascii: "u") else {
                throw JSONError(.loneSurrogate, at: place)
            }
            let low = try hexadecimal(at: index + 2)
            guard low & 0xfc00 == 0xdc00 else { throw JSONError(.loneSurrogate, at: place) }
            code = 0x10000 + (code & 0x3ff) << 10 + (low & 0x3ff)
            index += 6
        }
        guard let scalar = Unicode.Scalar(code) else { throw JSONError(.loneSurrogate, at: place) }
        guard code != 0 else { throw JSONError(.nulCharacter, at: place) }
        out.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    private func hexadecimal(at start: Int) throws(JSONError) -> UInt32 {
        guard start + 4 <= count else { throw JSONError(.unexpectedEnd, at: count) }
        var code: UInt32 = 0
        for place in start..<start + 4 {
            let digit: UInt8
            switch base[place] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = base[place] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = base[place] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = base[place] - UInt8(ascii: "A") + 10
            default: throw JSONError(.invalidEscape, at: place)
            }
            code = code << 4 | UInt32(digit)
        }
        return code
    }

    /// Reads a number. `index` is at its minus sign or first digit.
    mutating func number() throws(JSONError) -> JSONValue {
        let start = index
        let isNegative = base[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        let integerStart = index
        // Accumulate negatively, because the magnitude of `Int64.min` exceeds `Int64.max`.
        var (value, overflow): (Int64, Bool) = (0, false)
        while index < count, let digit = digit(at: index) {
            let (product, first) = value.multipliedReportingOverflow(by: 10)
            let (sum, second) = product.subtractingReportingOverflow(Int64(digit))
            value = sum
            overflow = overflow || first || second
            index += 1
        }
        guard index > integerStart else { throw JSONError(index < count ? .invalidNumber : .unexpectedEnd, at: index) }
        guard base[integerStart] != UInt8(ascii: "0") || index == integerStart + 1 else {
            throw JSONError(.invalidNumber, at: integerStart)
        }
        let isInteger = try !skipFractionAndExponent()
        if isInteger, !overflow {
            if isNegative { return .integer(value) }
            if value != Int64.min { return .integer(-value) }
        }
        return .number(try double(from: start))
    }

    private mutating func skipFractionAndExponent() throws(JSONError) -> Bool {
        var found = false
        if index < count, base[index] == UInt8(ascii: ".") {
            index += 1
            try skipDigits()
            found = true
        }
        if index < count, base[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < count, base[index] == UInt8(ascii: "+") || base[index] == UInt8(ascii: "-") { index += 1 }
            try skipDigits()
            found = true
        }
        return found
    }

    private mutating func skipDigits() throws(JSONError) {
        let start = index
        while index < count, digit(at: index) != nil { index += 1 }
        guard index > start else { throw JSONError(index < count ? .invalidNumber : .unexpectedEnd, at: index) }
    }

    @inline(__always)
    private func digit(at place: Int) -> UInt8? {
        let value = base[place] &- UInt8(ascii: "0")
        return value < 10 ? value : nil
    }

    private func double(from start: Int) throws(JSONError) -> Double {
        // No double needs more digits. Converting a megabyte of digits would only waste time.
        guard index - start <= 1024 else { throw JSONError(.numberOutOfRange, at: start) }
        let text = String(decoding: UnsafeBufferPointer(start: base + start, count: index - start), as: UTF8.self)
        guard let value = Double(text), value.isFinite else { throw JSONError(.numberOutOfRange, at: start) }
        return value
    }
}
