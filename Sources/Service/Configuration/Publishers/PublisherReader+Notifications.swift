import Domain
import Formats
import JSON

/// What the file says about Apple's notifications.
extension PublisherReader {
  func notifications() -> NotificationPolicy {
    NotificationPolicy(
      sharedSecretHashes: hashes(
        "notifications.sharedSecretHashes", of: "shared secret",
        "SHA-256 of each shared secret of App Store Connect, in hexadecimal. Apple's old notifications, version 1, carry "
          + "one."),
      forwards: forwards())
  }

  private func forwards() -> [NotificationForward] {
    let key = "notifications.forwardTo"
    let form = Form<[[ExactText: JSONValue]]>(
      expected: "a list of objects, each with url and perhaps environment", isSecret: true,
      json: { value in
        guard case .array(let elements) = value else { return nil }
        let objects = elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
        return objects.count == elements.count ? objects : nil
      },
      text: { _ in nil })
    let list = reader.read(
      key, [], "none",
      "URLs that get each notification as Apple posted it, each as `{\"url\": …}`, with `\"environment\"` for "
        + "`Production` or `Sandbox` only.",
      form)
    let forwards = (list ?? []).enumerated().compactMap { index, members in forward(members, "\(key)[\(index)]") }
    if forwards.map(\.url).hasRepetition { reader.note(key, "expected no URL twice") }
    if forwards.count > Self.mostForwards { reader.note(key, "expected at most \(Self.mostForwards) URLs") }
    return forwards
  }

  /// Each notification is a delivery for each of them.
  private static let mostForwards = 20

  private func forward(_ members: [ExactText: JSONValue], _ key: String) -> NotificationForward? {
    reader.noteUnknownMembers(of: members, at: key, except: ["url", "environment"])
    guard let url = members["url"]?.string else {
      reader.note("\(key).url", "is missing, expected a string")
      return nil
    }
    if let defect = addresses.defect(of: url) { reader.note("\(key).url", defect) }
    guard let name = members["environment"] else { return NotificationForward(url: url) }
    guard let environment = name.string.flatMap(WebhookEnvironment.init(rawValue:)) else {
      reader.note("\(key).environment", "expected one of Production, Sandbox")
      return nil
    }
    return NotificationForward(url: url, environment: environment)
  }
}
