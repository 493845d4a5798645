import Crypto
import Domain
import EventLoop
import Formats
import HTTP
import HTTPServer
import Ledger
import Observability
import Service

/// *Play a life*: purchases in the simulator, for who wants to see how one lives. It changes nothing here by itself:
/// the simulator posts its notifications as Apple does, so these actions need no preview and no audit entry.
extension ConsoleAPI {
  func play(_ reader: ConsoleReader) -> HTTPServerResponse {
    guard lives != nil else { return reader.nothing }
    return ConsoleAnswer.page(200, playPage(PlayForm(), reader).html)
  }

  func startLife(_ request: HTTPServerRequest, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard let lives else { return reader.nothing }
    try reader.mustAct()
    guard let body = FormBody(request.body), let form = PlayForm(body), let place = form.place else {
      throw ConsoleRefusal.malformed
    }
    guard let publisher = publisher(place.publisherId, reader),
      publisher.apps.contains(where: { $0.bundleId == place.bundleId })
    else { return reader.nothing }
    var page = playPage(form, reader)
    let customer = CustomerId(form.customer)
    guard customer.isValid, !form.customer.utf8.contains(0) else {
      page.refusal = "A customer's id has 1 to \(CustomerId.longest) bytes."
      return ConsoleAnswer.page(400, page.html)
    }
    guard try await mayOwn(CustomerKey(publisherId: publisher.id, id: customer), publisher) else {
      page.refusal = "The publisher has no customer with this id. Check it: capitals count."
      return ConsoleAnswer.page(404, page.html)
    }
    // Ids that begin with 2 have no scenario of their own.
    let id = OriginalTransactionId("2\(try Self.digits(15))")
    do {
      let life = try await lives.begin(id, form.product, of: place.bundleId, graceDays: form.graceDays)
      let key = PurchaseKey(publisherId: publisher.id, environment: .production, originalTransactionId: life.id)
      return ConsoleAnswer.seeOther(LifePage.address(key, customer, isLive: false, reader.view).address)
    } catch {
      page.refusal = refusal(error)
      return ConsoleAnswer.page(503, page.html)
    }
  }

  func life(_ key: PurchaseKey, _ request: HTTPServerRequest, _ reader: ConsoleReader) async throws
    -> HTTPServerResponse
  {
    guard let lives, let publisher = publisher(key.publisherId, reader) else { return reader.nothing }
    guard reader.view.person.role.seesPersonalData else { return reader.notForViewers }
    let customer = CustomerId(request.query("customer") ?? "")
    guard customer.isValid, !customer.text.utf8.contains(0) else { return reader.nothing }
    do {
      let life = try await lives.life(key.originalTransactionId)
      guard life.isOf(publisher) else { return reader.nothing }
      let page = try await lifePage(key, customer, life, isLive: request.query("live") == "1", reader)
      var answer = ConsoleAnswer.page(200, page.html)
      if page.isLive { answer.headers.append(("Refresh", "\(LifePage.seconds)")) }
      return answer
    } catch let error where error is SimulatedLives.Refusal || error is HTTPClientError {
      return reader.message(503, "The simulator does not answer", refusal(error))
    }
  }

  func apply(
    _ action: PlayedLife.Action, to key: PurchaseKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    guard let lives else { return reader.nothing }
    let (publisher, body) = try readForm(request, on: key.publisherId, reader)
    let customer = CustomerId(body["customer"] ?? "")
    guard customer.isValid, !customer.text.utf8.contains(0) else { throw ConsoleRefusal.malformed }
    do {
      // The simulator knows no publishers: the life must be of an app that the person may see.
      guard try await lives.life(key.originalTransactionId).isOf(publisher) else { return reader.nothing }
      _ = try await lives.apply(action, to: key.originalTransactionId)
      return ConsoleAnswer.seeOther(
        LifePage.address(key, customer, isLive: body["live"] == "1", reader.view).address)
    } catch let error where error is SimulatedLives.Refusal || error is HTTPClientError {
      guard let life = try? await lives.life(key.originalTransactionId) else {
        return reader.message(503, "The simulator does not answer", refusal(error))
      }
      var page = try await lifePage(key, customer, life, isLive: false, reader)
      page.refusal = refusal(error)
      return ConsoleAnswer.page(409, page.html)
    }
  }

  private func playPage(_ form: PlayForm, _ reader: ConsoleReader) -> PlayPage {
    PlayPage(
      view: reader.view,
      apps: context.publishers.all.filter { reader.view.person.sees($0.id) && !$0.apps.isEmpty }.prefix(200)
        .flatMap { publisher in
          publisher.apps.map { AppKey(publisherId: publisher.id, bundleId: $0.bundleId) }
        }, chosen: form)
  }

  private func lifePage(
    _ key: PurchaseKey, _ customer: CustomerId, _ life: PlayedLife, isLive: Bool, _ reader: ConsoleReader
  ) async throws -> LifePage {
    LifePage(
      view: reader.view, key: key, customer: customer, life: life,
      purchase: try await PurchaseReader(postgres).purchases([key])[key], isLive: isLive)
  }

  private func refusal(_ error: any Error) -> String {
    if let refusal = error as? SimulatedLives.Refusal { return refusal.words }
    return "The simulator did not answer: \(error)"
  }

  /// Random digits. Each byte makes one, so some come a little more often. These ids are no secret.
  private static func digits(_ count: Int) throws -> String {
    try secureRandomBytes(count).map { "\($0 % 10)" }.joined()
  }
}

extension PlayedLife {
  /// Whether it is of an app of a publisher.
  func isOf(_ publisher: Publisher) -> Bool { publisher.apps.contains { $0.bundleId == bundleId } }
}
