import Crypto
import Domain
import Formats
import HTTPServer
import Observability
import Service

/// What every action asks first: whether the person may see the publisher, whether the person may change anything, and
/// what the form says.
extension ConsoleAPI {
  /// The publisher that somebody acts on.
  func acting(on publisherId: PublisherId, _ reader: ConsoleReader) throws(ConsoleRefusal) -> Publisher {
    guard let publisher = publisher(publisherId, reader) else { throw ConsoleRefusal.answered(reader.nothing) }
    try reader.mustAct()
    return publisher
  }

  /// The publisher that somebody acts on, and the form.
  func readForm(
    _ request: HTTPServerRequest, on publisherId: PublisherId, _ reader: ConsoleReader
  ) throws(ConsoleRefusal) -> (publisher: Publisher, body: FormBody) {
    let publisher = try acting(on: publisherId, reader)
    guard let body = FormBody(request.body) else { throw ConsoleRefusal.malformed }
    return (publisher, body)
  }

  /// The random text by which a form works once: a new one for a preview, and the form's own if it is confirmed.
  ///
  /// - Throws: `ConsoleRefusal` for a text that no preview makes; `CryptoError`.
  func formToken(_ name: String, in body: FormBody, isConfirmed: Bool) throws -> String {
    let token = isConfirmed ? body[name] ?? "" : Hex.encode(try secureRandomBytes(16))
    guard token.utf8.count == 32, token.utf8.allSatisfy(\.isASCIILetterOrDigit) else {
      throw ConsoleRefusal.malformed
    }
    return token
  }

  /// The log, with the name of a purchase in each line.
  func log(of key: PurchaseKey) -> Log {
    context.log.with([
      "publisherId": .int(key.publisherId.number), "originalTransactionId": .string(key.originalTransactionId.text),
      "environment": .string(key.environment.text),
    ])
  }
}

extension ConsoleReader {
  /// Refuses somebody who may not change anything.
  func mustAct() throws(ConsoleRefusal) {
    guard view.person.role.acts else {
      throw .notDone(403, "A viewer changes nothing. Ask somebody with the role support.")
    }
  }
}
