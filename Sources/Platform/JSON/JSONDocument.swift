import Formats

/// The bytes of a JSON text, and the places of its values in the order of the text.
final class JSONDocument: Sendable {
  /// One value. An object's members follow it as key, value, key, value, each with everything below it.
  struct Node: Sendable {
    enum Kind: UInt8, Sendable { case null, no, yes, integer, fraction, string, escapedString, array, object }

    var kind: Kind
    /// The first byte. For a string, it is the byte behind the quotation mark.
    var start: Int
    /// The byte behind the last one. For a string, it is the quotation mark.
    var end: Int
    /// The index of the first node that is not below this one.
    var next: Int
  }

  let bytes: [UInt8]
  let nodes: [Node]

  init(_ bytes: [UInt8], _ limits: JSONLimits) throws(JSONSyntaxError) {
    self.bytes = bytes
    nodes = try JSONScanner.nodes(of: bytes, limits)
    try refuseRepeatedMembers()
  }

  /// Returns the text of a string node.
  func string(at index: Int) -> String {
    let node = nodes[index]
    if node.kind == .escapedString { return unescaped(node.start..<node.end) }
    return bytes.withUnsafeBufferPointer { String(decoding: $0[node.start..<node.end], as: UTF8.self) }
  }

  /// Returns a value with everything below it.
  func value(at index: Int) -> JSONValue {
    let node = nodes[index]
    switch node.kind {
    case .null: return .null
    case .yes, .no: return .bool(node.kind == .yes)
    case .string, .escapedString: return .string(string(at: index))
    case .integer, .fraction:
      if node.kind == .integer, let whole = integer(at: index) { return .integer(whole) }
      // The scanner has refused every value that is not a finite number.
      let number = double(at: index) ?? 0
      return Int64(exactly: number).map(JSONValue.integer) ?? .number(number)
    case .array:
      var elements: [JSONValue] = []
      var next = index + 1
      while next < node.next {
        elements.append(value(at: next))
        next = nodes[next].next
      }
      return .array(elements)
    case .object:
      var members: [ExactText: JSONValue] = [:]
      var next = index + 1
      while next < node.next {
        members[string(at: next)] = value(at: next + 1)
        next = nodes[next + 1].next
      }
      return .object(members)
    }
  }

  /// Returns the value of a whole number; `nil` if it has a fraction or does not fit into 64 bits with a sign.
  func integer(at index: Int) -> Int64? {
    let node = nodes[index]
    guard node.kind == .integer else {
      return node.kind == .fraction ? double(at: index).flatMap(Int64.init(exactly:)) : nil
    }
    return bytes.withUnsafeBufferPointer { bytes in
      let isNegative = bytes[node.start] == UInt8(ascii: "-")
      var value: Int64 = 0
      for position in (isNegative ? node.start + 1 : node.start)..<node.end {
        let digit = Int64(bytes[position] - UInt8(ascii: "0"))
        let (tenfold, overflows) = value.multipliedReportingOverflow(by: 10)
        // The code subtracts, since the smallest number has no positive counterpart.
        let (sum, carries) = tenfold.subtractingReportingOverflow(digit)
        guard !overflows, !carries else { return nil }
        value = sum
      }
      return isNegative ? value : value == .min ? nil : -value
    }
  }

  /// Returns the `Double` nearest to a number's text; `nil` for other values, and for a number beyond the range.
  func double(at index: Int) -> Double? {
    let node = nodes[index]
    guard node.kind == .integer || node.kind == .fraction else { return nil }
    return Double(String(decoding: bytes[node.start..<node.end], as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
  }

  /// Returns the text of a string with escapes, of which each is at least as long as what it stands for.
  private func unescaped(_ range: Range<Int>) -> String {
    bytes.withUnsafeBufferPointer { bytes in
      let text = UnsafeBufferPointer(rebasing: bytes[range])
      return String(unsafeUninitializedCapacity: text.count) { output in
        var (from, to) = (0, 0)
        while from < text.count {
          guard text[from] == UInt8(ascii: "\\") else {
            output[to] = text[from]
            (from, to) = (from + 1, to + 1)
            continue
          }
          let (scalar, length) = Self.escape(in: text, at: from + 1)
          from += 1 + length
          for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
            output[to] = unit
            to += 1
          }
        }
        return to
      }
    }
  }

  /// Returns what the escape behind a backslash stands for, and its length. The scanner has checked its form.
  private static func escape(in text: UnsafeBufferPointer<UInt8>, at index: Int) -> (Unicode.Scalar, Int) {
    switch text[index] {
    case UInt8(ascii: "u"):
      let code = codeUnit(in: text, at: index + 1)
      guard code & 0xfc00 == 0xd800 else { return (Unicode.Scalar(code) ?? "\u{fffd}", 5) }
      // The scanner has checked that the other half follows.
      let pair = 0x10000 + (code & 0x3ff) << 10 + codeUnit(in: text, at: index + 7) & 0x3ff
      return (Unicode.Scalar(pair) ?? "\u{fffd}", 11)
    case UInt8(ascii: "b"): return ("\u{8}", 1)
    case UInt8(ascii: "f"): return ("\u{c}", 1)
    case UInt8(ascii: "n"): return ("\n", 1)
    case UInt8(ascii: "r"): return ("\r", 1)
    case UInt8(ascii: "t"): return ("\t", 1)
    case let byte: return (Unicode.Scalar(byte), 1)
    }
  }

  private static func codeUnit(in text: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt32 {
    var unit: UInt32 = 0
    for byte in text[index..<index + 4] { unit = unit << 4 | UInt32(hexDigit(byte) ?? 0) }
    return unit
  }
}

/// Returns the value of a hexadecimal digit.
func hexDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}
