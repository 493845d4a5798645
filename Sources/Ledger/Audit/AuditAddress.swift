/// Where a person at the console was: a numeric address, as the last member of an entry's detail.
///
/// It says something about the person. So only the console shows it: `GET /audit` and every export leave it out.
enum AuditAddress {
  private static let start = Array(#""address":""#.utf8)
  private static let end = Array(#""}"#.utf8)

  /// The longest address that an entry has.
  static let longest = 64

  /// Returns a detail with an address behind its other members.
  ///
  /// - Parameter address: any other text than a numeric address is left out, as is the zone of an IPv6 address.
  static func adding(_ address: String, to detail: [UInt8]) -> [UInt8] {
    let address = Array(address.utf8.prefix { $0 != UInt8(ascii: "%") })
    guard detail.count >= 2, detail.last == UInt8(ascii: "}"), (1...longest).contains(address.count),
      address.allSatisfy(isOfAddress)
    else { return detail }
    let comma: [UInt8] = detail.count > 2 ? [UInt8(ascii: ",")] : []
    return Array(detail.dropLast() + comma + start + address + end)
  }

  /// Takes a detail apart.
  static func split(_ detail: [UInt8]) -> (detail: [UInt8], address: String?) {
    guard detail.suffix(end.count).elementsEqual(end) else { return (detail, nil) }
    let before = detail.dropLast(end.count)
    let address = before.suffix(before.reversed().prefix(longest + 1).prefix(while: isOfAddress).count)
    let rest = before.dropLast(address.count)
    guard (1...longest).contains(address.count), rest.suffix(start.count).elementsEqual(start) else {
      return (detail, nil)
    }
    var own = Array(rest.dropLast(start.count))
    if own.last == UInt8(ascii: ",") { own.removeLast() }
    return (own + [UInt8(ascii: "}")], String(decoding: address, as: UTF8.self))
  }

  private static func isOfAddress(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."), UInt8(ascii: ":"):
      true
    default: false
    }
  }

  /// The detail of an entry without the address, in SQL.
  static let detailWithout = """
    CASE WHEN actor LIKE 'operator%' THEN convert_to(regexp_replace(convert_from(detail, 'UTF8'), \
    ',?"address":"[0-9A-Fa-f.:]+"[}]$', '}'), 'UTF8') ELSE detail END
    """
}
