import Formats

/// The fields of a posted form (`application/x-www-form-urlencoded`).
struct FormBody {
  private var fields: [ExactText: String] = [:]

  subscript(name: String) -> String? { fields[name] }

  /// Reads a body; `nil` when an escape is malformed or not UTF-8. The first field of a name counts.
  init?(_ body: [UInt8]) {
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let texts = parts.map { part in
        let spaced = part.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return String(validating: spaced, as: UTF8.self).flatMap { PercentCoding.decoded($0[...]) }
      }
      guard texts.count == 2, let name = texts.first.flatMap(\.self), let value = texts.last.flatMap(\.self) else {
        return nil
      }
      if fields[name] == nil { fields[name] = value }
    }
  }
}
