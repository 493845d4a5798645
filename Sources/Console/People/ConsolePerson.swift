import Crypto
import Formats

/// What a person of the console may see.
enum ConsoleRole: String, Sendable, CaseIterable {
  /// Purchases and what happens to them, without personal data.
  case viewer
  /// Customers too.
  case support
  /// What support sees. Actions of operators will need it.
  case `operator`

  var seesPersonalData: Bool { self != .viewer }
}

/// A person who may sign in: a line of the file of users.
struct ConsolePerson: Sendable, Equatable {
  let name: String
  let role: ConsoleRole
  /// The publishers whose data the person sees; `nil` for all of them.
  let publishers: Set<Int64>?
  let password: Scrypt

  /// Whether the person may see a publisher's data.
  func sees(_ publisher: Int64) -> Bool { publishers?.contains(publisher) ?? true }

  /// The line of the file: name, role, publishers and the hash of the password, with a space between each two.
  var line: String {
    let publishers = publishers.map { $0.sorted().map(String.init).joined(separator: ",") } ?? "*"
    return "\(name) \(role.rawValue) \(publishers) \(password.text)"
  }

  /// Tells this line from every other one. A session is bound to it.
  var lineSHA256: String { Hex.encode(SHA256.hash(Array(line.utf8))) }

  /// What a line must look like.
  static let form = "NAME ROLE PUBLISHERS HASH, as `countersign console-password` prints it"

  /// Reads a line; `nil` for any other text.
  init?(line: String) {
    let parts = line.split(separator: " ").map(String.init)
    guard parts.count == 4, Self.isName(parts[0]), let role = ConsoleRole(rawValue: parts[1]),
      let publishers = Self.publishers(parts[2]), let password = Scrypt(parts[3])
    else { return nil }
    self.init(name: parts[0], role: role, publishers: publishers.isEmpty ? nil : publishers, password: password)
  }

  init(name: String, role: ConsoleRole, publishers: Set<Int64>?, password: Scrypt) {
    (self.name, self.role, self.publishers, self.password) = (name, role, publishers, password)
  }

  /// Whether a text can name a person: 1 to 100 printable ASCII characters without a space, such as an e-mail address.
  static func isName(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } && !text.hasPrefix("#")
  }

  /// Reads `*` as an empty set, or ids with commas; `nil` for any other text.
  static func publishers(_ text: String) -> Set<Int64>? {
    if text == "*" { return [] }
    let ids = text.split(separator: ",", omittingEmptySubsequences: false).map { Int64($0) }
    let known = ids.compactMap(\.self).filter { $0 > 0 }
    return known.count == ids.count ? Set(known) : nil
  }
}
