import Domain

/// The urgency of a request, as its client names it (RFC 9218, section 4.1).
///
/// For example `Priority: u=7` asks for a background task. The field is a hint: one that cannot be read counts as
/// absent, as section 4 wants it.
struct RequestPriority: Equatable {
  /// From 0, the most urgent, to 7.
  let urgency: Int

  /// The urgency of background tasks.
  private static let background = 7
  /// That of a request that names none.
  private static let usual = 3
  /// A client has nothing to say in a longer field.
  private static let longest = 256

  /// Reads the value of a `Priority` field. Of several urgencies the last one counts (RFC 8941, section 4.2.2).
  init(_ field: String?) {
    let field = field.map { $0.utf8.prefix(Self.longest + 1) } ?? "".utf8.prefix(0)
    let members = field.count > Self.longest ? [] : field.split(separator: UInt8(ascii: ","))
    var urgency = Self.usual
    for member in members {
      // Parameters of a member, as in `u=7;a=1`, mean nothing here.
      let item = Self.trimmed(member.prefix { $0 != UInt8(ascii: ";") })
      guard item.starts(with: "u=".utf8), item.count == 3, let digit = item.last else { continue }
      let value = Int(digit) - Int(UInt8(ascii: "0"))
      if (0...7).contains(value) { urgency = value }
    }
    self.urgency = urgency
  }

  /// Whether nobody waits for the request's work.
  var isBackground: Bool { urgency == Self.background }

  /// The lane of a registration. A customer waits for the purchase, whatever the app says.
  func lane(isByCustomer: Bool) -> JobLane { isBackground && !isByCustomer ? .bulk : .usual }

  private static func trimmed(_ bytes: Substring.UTF8View) -> Substring.UTF8View {
    let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    let rest = bytes.drop(while: isBlank)
    guard let last = rest.lastIndex(where: { !isBlank($0) }) else { return rest.prefix(0) }
    return rest[...last]
  }
}
