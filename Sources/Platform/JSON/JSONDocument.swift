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

  init(_ bytes: [UInt8]) throws(JSONSyntaxError) {
    self.bytes = bytes
    nodes = try JSONScanner.nodes(of: bytes)
    try refuseRepeatedMembers()
  }

  /// Returns the text of a string node.
  func string(at index: Int) -> String {
    let node = nodes[index]
    if node.kind == .escapedString { return unescaped(bytes[node.start..<node.end]) }
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
      // The scanner has refused every value that is not a finite number.
      return integer(at: index).map(JSONValue.integer) ?? .number(double(at: index) ?? 0)
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
        members[string(at: next).exact] = value(at: next + 1)
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

  private func unescaped(_ text: ArraySlice<UInt8>) -> String {
    var output: [UInt8] = []
    output.reserveCapacity(text.count)
    var index = text.startIndex
    while index < text.endIndex {
      guard text[index] == UInt8(ascii: "\\") else {
        output.append(text[index])
        index += 1
        continue
      }
      switch text[index + 1] {
      case UInt8(ascii: "u"):
        var code = codeUnit(in: text, at: index + 2)
        if code & 0xfc00 == 0xd800 {
          // The scanner has checked that the other half follows.
          code = 0x10000 + (code & 0x3ff) << 10 + codeUnit(in: text, at: index + 8) & 0x3ff
          index += 6
        }
        index += 4
        if let scalar = Unicode.Scalar(code) { output.append(contentsOf: Array(String(Character(scalar)).utf8)) }
      case UInt8(ascii: "b"): output.append(0x08)
      case UInt8(ascii: "f"): output.append(0x0c)
      case UInt8(ascii: "n"): output.append(0x0a)
      case UInt8(ascii: "r"): output.append(0x0d)
      case UInt8(ascii: "t"): output.append(0x09)
      default: output.append(text[index + 1])
      }
      index += 2
    }
    return String(decoding: output, as: UTF8.self)
  }

  private func codeUnit(in text: ArraySlice<UInt8>, at index: Int) -> UInt32 {
    text[index..<index + 4].reduce(0) { $0 << 4 | UInt32(hexDigit($1) ?? 0) }
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
