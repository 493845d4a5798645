import Glibc

/// Finds the values of a JSON text, and each deviation from RFC 8259 and each excess over a reader's limits.
struct JSONScanner {
  /// No number that a program writes is longer. The nearest `Double` of a longer one costs more than its bytes.
  private static let mostNumberBytes = 64

  private let limits: JSONLimits
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0
  private var nodes: [JSONDocument.Node] = []
  private var isASCII = true

  /// Returns the values in the order of the text.
  static func nodes(of bytes: [UInt8], _ limits: JSONLimits) throws(JSONSyntaxError) -> [JSONDocument.Node] {
    // The closure returns a result, because a typed error cannot pass through it.
    let result = bytes.withUnsafeBufferPointer { buffer -> Result<[JSONDocument.Node], JSONSyntaxError> in
      var scanner = JSONScanner(bytes: buffer, limits: limits)
      do throws(JSONSyntaxError) {
        try scanner.scanText()
        return .success(scanner.nodes)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private init(bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits) {
    self.bytes = bytes
    self.limits = limits
    // Apple's payloads have one value for 15 bytes or more.
    nodes.reserveCapacity(min(bytes.count / 12, limits.values) + 2)
  }

  private var failure: JSONSyntaxError { JSONSyntaxError(offset: position) }

  private func excess(_ excess: JSONLimits.Excess) -> JSONSyntaxError {
    JSONSyntaxError(offset: position, excess: excess)
  }

  /// The byte at the position; 0 at the end, which JSON allows nowhere.
  private var byte: UInt8 { position < bytes.count ? bytes[position] : 0 }

  private mutating func scanText() throws(JSONSyntaxError) {
    try scanValue(depth: 0)
    skipSpace()
    guard position == bytes.count else { throw failure }
    // A span is validated in its place, and a string would be a copy.
    if !isASCII, (try? UTF8Span(validating: Span(_unsafeElements: bytes))) == nil { throw JSONSyntaxError(offset: 0) }
  }

  private mutating func skipSpace() {
    // A local position: a body of spaces takes half the time.
    var at = position
    while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x0a || bytes[at] == 0x0d || bytes[at] == 0x09 { at += 1 }
    position = at
  }

  private mutating func scanValue(depth: Int) throws(JSONSyntaxError) {
    skipSpace()
    guard nodes.count < limits.values else { throw excess(.values(limits.values)) }
    switch byte {
    case UInt8(ascii: "\""): try scanString()
    case UInt8(ascii: "{"): try scanObject(depth: depth)
    case UInt8(ascii: "["): try scanArray(depth: depth)
    case UInt8(ascii: "t"): try scanWord("true", .yes)
    case UInt8(ascii: "f"): try scanWord("false", .no)
    case UInt8(ascii: "n"): try scanWord("null", .null)
    default: try scanNumber()
    }
  }

  private mutating func append(_ kind: JSONDocument.Node.Kind, from start: Int, to end: Int) {
    nodes.append(JSONDocument.Node(kind: kind, start: start, end: end, next: nodes.count + 1))
  }

  private mutating func scanWord(_ word: StaticString, _ kind: JSONDocument.Node.Kind) throws(JSONSyntaxError) {
    let start = position
    for offset in 0..<word.utf8CodeUnitCount {
      guard byte == word.utf8Start[offset] else { throw failure }
      position += 1
    }
    append(kind, from: start, to: position)
  }

  private mutating func scanString() throws(JSONSyntaxError) {
    position += 1
    let start = position
    var kind = JSONDocument.Node.Kind.string
    skipPlain()
    while true {
      switch byte {
      case UInt8(ascii: "\""):
        append(kind, from: start, to: position)
        position += 1
        return
      case UInt8(ascii: "\\"):
        kind = .escapedString
        try scanEscape()
      case 0..<0x20: throw failure
      default: skipOrdinary()
      }
    }
  }

  /// Skips the bytes of a string up to the next quotation mark, backslash or control character.
  private mutating func skipOrdinary() {
    var (at, all): (Int, UInt8) = (position, 0)
    while at < bytes.count {
      let byte = bytes[at]
      guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
      all |= byte
      at += 1
    }
    if all >= 0x80 { isASCII = false }
    position = at
  }

  /// Skips a string that consists of printable ASCII without a backslash. Signed texts are long strings of this kind.
  ///
  /// It skips nothing of any other string. The loop has no exit in its middle, so it checks sixteen bytes at a time.
  private mutating func skipPlain() {
    guard let start = bytes.baseAddress.map({ $0 + position }),
      let quote = memchr(start, Int32(UInt8(ascii: "\"")), bytes.count - position)
    else { return }
    let length = UnsafeRawPointer(quote) - UnsafeRawPointer(start)
    var special: UInt8 = 0
    for offset in 0..<length {
      let byte = start[offset]
      // For a control character, the subtraction sets the top bit. A byte beyond ASCII has that bit already.
      special |= (byte &- 0x20) | byte | (byte == UInt8(ascii: "\\") ? 0x80 : 0)
    }
    if special & 0x80 == 0 { position += length }
  }

  private mutating func scanEscape() throws(JSONSyntaxError) {
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    case UInt8(ascii: "u"):
      let unit = try scanCodeUnit()
      guard unit & 0xf800 == 0xd800 else { return }
      // This is a surrogate. The second half must follow the first.
      guard unit < 0xdc00, byte == UInt8(ascii: "\\") else { throw failure }
      position += 1
      guard byte == UInt8(ascii: "u"), try scanCodeUnit() & 0xfc00 == 0xdc00 else { throw failure }
    default: throw failure
    }
  }

  /// Reads the four digits behind the `u` at the position.
  private mutating func scanCodeUnit() throws(JSONSyntaxError) -> UInt32 {
    position += 1
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = hexDigit(byte) else { throw failure }
      unit = unit << 4 | UInt32(digit)
      position += 1
    }
    return unit
  }

  private mutating func scanNumber() throws(JSONSyntaxError) {
    let start = position
    var kind = JSONDocument.Node.Kind.integer
    var exponent = start
    if byte == UInt8(ascii: "-") { position += 1 }
    if byte == UInt8(ascii: "0") { position += 1 } else { try scanDigits() }
    if byte == UInt8(ascii: ".") {
      kind = .fraction
      position += 1
      try scanDigits()
    }
    if byte | 0x20 == UInt8(ascii: "e") {
      kind = .fraction
      exponent = position
      position += 1
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { position += 1 }
      try scanDigits()
    }
    append(kind, from: start, to: position)
    guard position - start <= Self.mostNumberBytes else { throw excess(.numberBytes(Self.mostNumberBytes)) }
    // So short a number leaves the range of a Double only by its exponent.
    guard exponent > start else { return }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard Double(text)?.isFinite == true else { throw JSONSyntaxError(offset: start) }
  }

  private mutating func scanDigits() throws(JSONSyntaxError) {
    let start = position
    while byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    guard position > start else { throw failure }
  }

  private mutating func scanArray(depth: Int) throws(JSONSyntaxError) {
    let index = try open(.array, depth: depth)
    if byte != UInt8(ascii: "]") {
      var count = 0
      while true {
        guard count < limits.elements else { throw excess(.elements(limits.elements)) }
        count += 1
        try scanValue(depth: depth + 1)
        guard try goesOn(until: UInt8(ascii: "]")) else { break }
      }
    }
    close(index)
  }

  private mutating func scanObject(depth: Int) throws(JSONSyntaxError) {
    let index = try open(.object, depth: depth)
    if byte != UInt8(ascii: "}") {
      var count = 0
      while true {
        skipSpace()
        guard byte == UInt8(ascii: "\"") else { throw failure }
        guard count < limits.members else { throw excess(.members(limits.members)) }
        count += 1
        let name = position + 1
        try scanString()
        guard position - 1 - name <= limits.nameBytes else { throw excess(.nameBytes(limits.nameBytes)) }
        skipSpace()
        guard byte == UInt8(ascii: ":") else { throw failure }
        position += 1
        try scanValue(depth: depth + 1)
        guard try goesOn(until: UInt8(ascii: "}")) else { break }
      }
    }
    close(index)
  }

  private mutating func open(_ kind: JSONDocument.Node.Kind, depth: Int) throws(JSONSyntaxError) -> Int {
    guard depth < limits.depth else { throw excess(.depth(limits.depth)) }
    append(kind, from: position, to: position)
    position += 1
    skipSpace()
    return nodes.count - 1
  }

  private mutating func close(_ index: Int) {
    position += 1
    nodes[index].end = position
    nodes[index].next = nodes.count
  }

  /// Takes the comma behind a member. Returns false at the end, which it leaves to ``close(_:)``.
  private mutating func goesOn(until end: UInt8) throws(JSONSyntaxError) -> Bool {
    skipSpace()
    if byte == end { return false }
    guard byte == UInt8(ascii: ",") else { throw failure }
    position += 1
    return true
  }
}
