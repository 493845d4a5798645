import Crypto
public import Domain
import Formats
public import JSON

/// How a command names customers.
public enum PersonNaming: String, Sendable {
  /// By the hash that log lines have.
  case hash
  /// By their ids.
  case plain
  /// Not at all.
  case none

  /// What stands for a customer. With ``none``, nothing may.
  func name(_ customer: CustomerId, of publisher: PublisherId) -> String {
    self == .plain ? customer.text : CustomerDigest.short(of: customer.text, of: publisher.number)
  }

  /// Whether the value of a member names a customer, whoever wrote the message.
  static func isName(_ member: String) -> Bool {
    let name = member.lowercased()
    return name.contains("customer") || name.contains("user")
  }

  /// The members that tell about a person without naming a customer, in small letters.
  fileprivate static let personal: Set = [
    "appaccounttoken", "attributes", "email", "identifierforvendor", "ipaddress", "metadata",
  ]
}

extension JSONValue {
  /// The value as a person may see it. Unless the naming is plain, it has nothing that a client told about a person.
  public func naming(_ naming: PersonNaming, of publisher: PublisherId) -> JSONValue {
    switch self {
    case _ where naming == .plain: return self
    case .array(let elements): return .array(elements.map { $0.naming(naming, of: publisher) })
    case .object(let members):
      var left: [ExactText: JSONValue] = [:]
      for (name, value) in members where !PersonNaming.personal.contains(name.text.lowercased()) {
        guard PersonNaming.isName(name.text) else {
          left[name] = value.naming(naming, of: publisher)
          continue
        }
        if naming == .hash, let text = value.text {
          left[name] = .string(naming.name(CustomerId(text), of: publisher))
        }
      }
      return .object(left)
    default: return self
    }
  }
}
