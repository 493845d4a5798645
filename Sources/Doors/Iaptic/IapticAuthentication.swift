import Crypto
import Domain
import HTTPServer

/// The credential of a request to iaptic's door: the name of an app, and one of its keys.
struct IapticCredential: Equatable {
  let appName: String
  let key: String

  /// Takes the credential out of a request; `nil` if it has none.
  ///
  /// `Authorization` counts before the query: Basic, or Bearer, both with the base64 of name and key.
  init?(_ request: HTTPServerRequest) {
    if let authorization = request.header("Authorization") {
      let words = authorization.split(separator: " ")
      guard words.count == 2, ["basic", "bearer"].contains(words[0].lowercased()),
        let text = Base64.decode(words[1]).flatMap({ String(validating: $0, as: UTF8.self) })
      else { return nil }
      // A key may have a colon in it, and a name has none, as with every Basic credential.
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      (appName, key) = (String(parts[0]), String(parts[1]))
    } else {
      guard let name = request.query("appName"), let key = request.query("apiKey") else { return nil }
      (appName, self.key) = (name, key)
    }
    if appName.isEmpty || key.isEmpty { return nil }
  }

  /// The publisher whose receipts the holder may validate.
  ///
  /// - Parameter now: milliseconds since 1970.
  func validator(_ publishers: Publishers, now: Int64) -> PublisherLookUp<Publisher> {
    holder(publishers, isSecret: false, now: now).or(holder(publishers, isSecret: true, now: now))
  }

  /// The publisher whose purchases the holder may read. The app's public key reads nothing: every copy of the app has
  /// it.
  ///
  /// - Parameter now: milliseconds since 1970.
  func reader(_ publishers: Publishers, now: Int64) -> PublisherLookUp<Publisher> {
    holder(publishers, isSecret: true, now: now)
  }

  private func holder(_ publishers: Publishers, isSecret: Bool, now: Int64) -> PublisherLookUp<Publisher> {
    publishers.holder(
      ofHash: SHA256.hash(Array(key.utf8)), at: .iaptic, ring: IapticDoor.ring(of: appName, isSecret: isSecret),
      now: now
    ).map(\.publisher)
  }
}
