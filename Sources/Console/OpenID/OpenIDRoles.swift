import Configuration
import Crypto
import Formats

/// A line of the file of roles: everybody with this claim has this role.
struct OpenIDRole: Sendable, Equatable {
  let role: ConsoleRole
  let publishers: SeenPublishers
  @Exact private(set) var claim: String
  @Exact private(set) var value: String

  /// What a line must look like.
  static let form = "ROLE PUBLISHERS CLAIM VALUE, such as: support 1001 groups countersign-support"

  /// Reads a line; `nil` for any other text. The value is the rest of the line, and may have spaces.
  init?(line: String) {
    let parts = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, let role = ConsoleRole(rawValue: parts[0]), let publishers = SeenPublishers(parts[1]),
      !parts[2].isEmpty, !parts[3].isEmpty, parts[3].first != " ", parts[3].last != " "
    else { return nil }
    (self.role, self.publishers) = (role, publishers)
    (claim, value) = (parts[2], parts[3])
  }

  var line: String { "\(role.rawValue) \(publishers.text) \(claim) \(value)" }

  /// Whether a person with these claims has the role.
  func fits(_ claims: OpenIDClaims) -> Bool {
    // Anybody may write any address into an account that does not check it.
    if claim == "email", !claims.isTrue("email_verified") { return false }
    return claims.texts(claim)?.containsExactly(value) ?? false
  }
}

/// The file of roles: who of the provider's people, or of the proxy's, may do what.
struct OpenIDRoles: FileLines {
  private let roles: [OpenIDRole]
  let mistakes: [String]

  var count: Int { roles.count }

  init(nobodyBecause mistake: String) { (roles, mistakes) = ([], [mistake]) }

  /// Reads the file. Empty lines, and lines that begin with `#`, say nothing. A line with a mistake gives nobody a
  /// role.
  init(_ text: String) {
    var roles: [OpenIDRole] = []
    var mistakes: [String] = []
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
    for (number, line) in lines.enumerated() {
      if line.allSatisfy({ $0 == " " }) || line.hasPrefix("#") { continue }
      if let role = OpenIDRole(line: line) {
        roles.append(role)
      } else {
        mistakes.append("line \(number + 1) cannot be read, expected \(OpenIDRole.form)")
      }
    }
    if roles.isEmpty, mistakes.isEmpty { mistakes = ["has no line, expected at least one of \(OpenIDRole.form)"] }
    (self.roles, self.mistakes) = (roles, mistakes)
  }

  /// Why somebody with an account at the provider may not sign in here.
  enum Refusal: Error, Equatable {
    /// The token does not have the claim that names the person.
    case noName(claim: String)
    /// Nobody has checked that the address is the person's.
    case unverifiedEmail
    /// The name has characters, or a length, that no name of the console has.
    case unusableName(claim: String)
    /// A line of the file of users has the name.
    case nameWithPassword(String)
    /// The file of users cannot be read, so nobody can tell whether it has the name.
    case usersUnreadable
    case noRole(String)

    /// The verified name, for the audit log; `nil` without one. The address of a stranger does not stay there for good.
    var name: String? { if case .nameWithPassword(let name) = self { name } else { nil } }

    /// For the audit log.
    var label: String {
      switch self {
      case .noName: "noName"
      case .unverifiedEmail: "unverifiedEmail"
      case .unusableName: "unusableName"
      case .nameWithPassword: "nameWithPassword"
      case .usersUnreadable: "usersUnreadable"
      case .noRole: "noRole"
      }
    }
  }

  /// Decides who somebody is, and what the person may do. The first line that fits counts.
  ///
  /// - Parameter people: those with a password. Nobody else gets one of their names, in whatever case it is written,
  ///   also while the person's line cannot be read.
  func person(
    _ claims: OpenIDClaims, _ settings: OpenIDSettings, beside people: ConsolePeople
  ) throws(Refusal) -> ConsolePerson {
    let claim = settings.personClaim
    guard let name = claims.text(claim) else { throw .noName(claim: claim) }
    if claim == "email", !claims.isTrue("email_verified") { throw .unverifiedEmail }
    guard ConsolePerson.isName(name) else { throw .unusableName(claim: claim) }
    guard let isTaken = people.hasTaken(name) else { throw .usersUnreadable }
    if isTaken { throw .nameWithPassword(name) }
    guard let role = role(for: claims) else { throw .noRole(name) }
    return ConsolePerson(openID: name, role: role, settings)
  }

  /// The first line that fits; `nil` if none does.
  func role(for claims: OpenIDClaims) -> OpenIDRole? { roles.first { $0.fits(claims) } }

  /// Who has a session, as the file is now; `nil` if the line that gave the role is gone or another one.
  func person(_ name: String, _ lineSHA256: String, _ settings: OpenIDSettings) -> ConsolePerson? {
    for role in roles {
      let person = ConsolePerson(openID: name, role: role, settings)
      if person.lineSHA256 == lineSHA256 { return person }
    }
    return nil
  }
}

extension ConsolePerson {
  /// A person whom the provider knows. A session is bound to the line, to the provider, and to the claim of the name.
  fileprivate init(openID name: String, role: OpenIDRole, _ settings: OpenIDSettings) {
    let bound = "openId \(settings.issuer)\n\(settings.clientId)\n\(settings.personClaim)\n\(role.line)"
    self.init(
      name: name, role: role.role, publishers: role.publishers,
      lineSHA256: Hex.encode(SHA256.hash(Array(bound.utf8))))
  }
}
