import Crypto
import Formats
import FoundationEssentials
import HTTPServer
import Testing

extension WebhookReceiver.Received {
  /// Whether a secret of the form `whsec_…` has signed the request.
  func isSigned(with secret: String) throws -> Bool {
    let key = try #require(Base64.decode(secret.dropFirst("whsec_".count)))
    let signed = Array("\(id).\(timestamp).".utf8) + request.body
    return signature == "v1," + Base64.encode(HMACSHA256.authenticate(signed, key: key))
  }

  /// The synchronization that the event tells about, if it tells about one.
  var synchronizationId: String? {
    struct Envelope: Decodable {
      let data: Content
      struct Content: Decodable { let synchronizationId: String }
    }
    return try? JSONDecoder().decode(Envelope.self, from: Data(request.body)).data.synchronizationId
  }
}
