import Configuration
import Formats
import HTTPServer
import JSON
import Service

/// Who somebody is, as a listed proxy says it in the header fields of one request.
///
/// Anybody can write header fields. So they count only if the socket's peer is a listed proxy, and only if they leave
/// no doubt: a field that is there twice may be the proxy's and a stranger's.
struct ProxyIdentity: Sendable, Equatable {
  let name: String
  let groups: [String]

  /// The most bytes of all groups.
  static let longestGroups = 8 << 10

  /// Why a request is nobody's.
  enum Refusal: Error, Equatable {
    /// The socket's peer is no listed proxy, whatever the header fields say.
    case unlisted
    /// The proxy names nobody.
    case noName
    /// A field is there more than once.
    case twice(field: String)
    /// A field is empty or too long, or has bytes that no name has.
    case unusable(field: String)
    /// The file of roles has no line for the person.
    case noRole(String)

    /// For metrics.
    var label: String {
      switch self {
      case .unlisted: "unlisted"
      case .noName: "noName"
      case .twice: "twice"
      case .unusable: "unusable"
      case .noRole: "noRole"
      }
    }
    static let labels = ["unlisted", "noName", "twice", "unusable", "noRole"]
  }

  /// The claims that lines of the file of roles can name: `user`, and `groups`.
  var claims: OpenIDClaims {
    OpenIDClaims(members: [ExactText("user"): .string(name), ExactText("groups"): .array(groups.map { .string($0) })])
  }

  /// What the person may do, by the first line that fits.
  func person(_ roles: OpenIDRoles) throws(Refusal) -> ConsolePerson {
    guard let role = roles.role(for: claims) else { throw .noRole(name) }
    // Only sessions compare the line, and this person has none.
    return ConsolePerson(name: name, role: role.role, publishers: role.publishers, lineSHA256: "")
  }
}

extension ProxyIdentity {
  /// Reads who somebody is.
  init(_ request: HTTPServerRequest, _ settings: ProxySignInSettings) throws(Refusal) {
    // The socket's peer, and not the client that a proxy names.
    guard let peer = request.origin.peer, ClientAddress.isProxy(peer, in: settings.addresses) else { throw .unlisted }
    guard let name = try Self.value(of: settings.userHeader, request) else { throw .noName }
    guard ConsolePerson.isName(name) else { throw .unusable(field: settings.userHeader) }
    self.name = name
    guard let field = settings.groupsHeader, let text = try Self.value(of: field, request) else {
      groups = []
      return
    }
    guard text.utf8.count <= Self.longestGroups, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
      throw .unusable(field: field)
    }
    groups = text.split(separator: ",").map(Self.trimmed).filter { !$0.isEmpty }
  }

  /// The only value of a field; `nil` if the field is not there.
  private static func value(of field: String, _ request: HTTPServerRequest) throws(Refusal) -> String? {
    let values = request.values(of: field)
    guard values.count <= 1 else { throw .twice(field: field) }
    return values.first
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
