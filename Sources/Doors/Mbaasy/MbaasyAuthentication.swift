import Crypto
import Domain
import HTTPServer

/// An app that calls Mbaasy's client API, found by its client token.
struct MbaasyAuthentication {
  let publisher: Publisher
  let door: MbaasyDoor
  /// The app whose token it is.
  let bundleId: BundleId
}

extension MbaasyAuthentication {
  /// Checks `Authorization: Bearer TOKEN`.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: ``MbaasyError``: 401, or 503 while the publisher's file has a mistake.
  init(_ request: HTTPServerRequest, _ publishers: Publishers, now: Int64) throws(MbaasyError) {
    guard let authorization = request.header("Authorization") else {
      throw .unauthorized("is missing; send Bearer and the app's client token")
    }
    let words = authorization.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bearer" else {
      throw .unauthorized("is not Bearer and the app's client token, with one space between them")
    }
    let found = publishers.holder(ofHash: SHA256.hash(Array(words[1].utf8)), at: .mbaasy, now: now)
    if case .broken = found { throw .brokenPublisher }
    guard let holder = found.found, let door = holder.publisher.doors.mbaasy
    else { throw .unauthorized("is not an app's client token") }
    (publisher, self.door, bundleId) = (holder.publisher, door, BundleId(holder.holder))
  }
}
