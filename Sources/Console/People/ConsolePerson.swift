import Crypto
import Domain
import Formats

/// What a person of the console may see.
enum ConsoleRole: String, Sendable, CaseIterable {
  /// Purchases and what happens to them, without personal data.
  case viewer
  /// Customers too, and what helps them: access by hand.
  case support
  /// What support sees and does, and the erasure of a customer.
  case `operator`

  var seesPersonalData: Bool { self != .viewer }

  /// Whether a person may change something.
  var acts: Bool { self != .viewer }

  /// Whether a person may see what opens other doors: the whole address of an endpoint, and a new secret.
  var seesSecrets: Bool { self == .operator }

  /// Whether a person may do what nobody can undo.
  var erases: Bool { self == .operator }
}

/// A person who may sign in: by a line of the file of users, or with an account at the provider.
struct ConsolePerson: Sendable, Equatable {
  let name: String
  let role: ConsoleRole
  let publishers: SeenPublishers
  /// `nil` for somebody whom the provider knows.
  let password: Scrypt?
  /// Tells the line that lets the person in from every other one. A session is bound to it.
  let lineSHA256: String

  /// Whether the person may see a publisher's data.
  func sees(_ publisher: PublisherId) -> Bool { publishers.contains(publisher) }

  /// The line of the file: name, role, publishers and the hash of the password, with a space between each two.
  static func line(_ name: String, _ role: ConsoleRole, _ publishers: SeenPublishers, _ password: Scrypt) -> String {
    "\(name) \(role.rawValue) \(publishers.text) \(password.text)"
  }

  /// What a line must look like.
  static let form = "NAME ROLE PUBLISHERS HASH, as `countersign console-password` prints it"

  /// Reads a line; `nil` for any other text.
  init?(line: String) {
    let parts = line.split(separator: " ").map(String.init)
    guard parts.count == 4, Self.isName(parts[0]), let role = ConsoleRole(rawValue: parts[1]),
      let publishers = SeenPublishers(parts[2]), let password = Scrypt(parts[3])
    else { return nil }
    self.init(name: parts[0], role: role, publishers: publishers, password: password)
  }

  init(name: String, role: ConsoleRole, publishers: SeenPublishers, password: Scrypt) {
    (self.name, self.role, self.publishers, self.password) = (name, role, publishers, password)
    lineSHA256 = Hex.encode(SHA256.hash(Array(Self.line(name, role, publishers, password).utf8)))
  }

  /// Creates somebody without a password.
  init(name: String, role: ConsoleRole, publishers: SeenPublishers, lineSHA256: String) {
    (self.name, self.role, self.publishers, self.lineSHA256) = (name, role, publishers, lineSHA256)
    password = nil
  }

  /// Whether a text can name a person: 1 to 100 printable ASCII characters without a space, such as an e-mail address.
  static func isName(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } && !text.hasPrefix("#")
  }
}
