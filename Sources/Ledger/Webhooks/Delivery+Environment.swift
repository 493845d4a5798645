public import Domain
import Formats
import JSON

extension Delivery {
  /// The environment of the purchase that the event tells about; `nil` if it is about no purchase.
  ///
  /// Each topic tells it in its vendor's words.
  public var environment: WebhookEnvironment? {
    guard let body: JSONValue = try? JSONText(self.body, limits: .own).decoded(), let data = body["data"] else {
      return nil
    }
    // An entitlement is told as it is and as it was, and Mbaasy's purchase is `data` once more.
    for place in [data, data["after"], data["before"], data["data"]] {
      guard case .string(let name)? = place?["environment"] else { continue }
      return WebhookEnvironment.allCases.first { $0.rawValue.lowercased().utf8.elementsEqual(name.lowercased().utf8) }
    }
    guard case .string(let product)? = data["notification"]?["productId"],
      case .bool(let isSandbox)? = data["purchases"]?[product]?["sandbox"]
    else { return nil }
    return isSandbox ? .sandbox : .production
  }
}

extension JSONValue {
  fileprivate subscript(name: String) -> JSONValue? {
    if case .object(let members) = self { members[name.exact] } else { nil }
  }
}
