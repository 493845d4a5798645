import Formats
import JSON

extension Delivery {
  /// Returns the environment of the purchase that the event tells about; `nil` if it is about no purchase.
  ///
  /// - Parameter doors: their events tell it in their vendors' words.
  public func environment(_ doors: DoorCatalog) -> WebhookEnvironment? {
    guard let body: JSONValue = try? JSONText(self.body, limits: .own).decoded(), let data = body["data"] else {
      return nil
    }
    // An entitlement is told as it is and as it was.
    for place in [data, data["after"], data["before"]] {
      guard let name = place?["environment"], case .string = name else { continue }
      return WebhookEnvironment(named: name)
    }
    for door in doors.all {
      if let environment = door.environment(of: data) { return environment }
    }
    return nil
  }
}

extension JSONValue {
  fileprivate subscript(name: String) -> JSONValue? {
    if case .object(let members) = self { members[name] } else { nil }
  }
}
