import HTTP2Server
import JSON

/// The calls of the App Store Server API about notifications.
extension StoreService {
  /// Decides about a call that no scenario is about; `nil` for the others.
  func decision(about call: StoreCall, _ request: HTTP2Request, of app: Simulator.App, now: Int64) -> StoreDecision? {
    do throws(StoreFailure) {
      switch call.endpoint {
      case .transactions, .subscriptions, .history: return nil
      case .orderLookup: return order(call, of: app, now: now)
      case .notificationHistory: return StoreDecision(.body(try history(call, request, of: app, now: now)))
      case .testNotification: return StoreDecision(.body(try test(call, of: app, now: now)))
      case .testStatus: return StoreDecision(.body(try status(ofTest: call, of: app)))
      case .consumption, .oldConsumption:
        try consume(call, request, of: app, now: now)
        return StoreDecision(.accepted)
      }
    } catch {
      return StoreDecision(.failure(error))
    }
  }

  private func history(
    _ call: StoreCall, _ request: HTTP2Request, of app: Simulator.App, now: Int64
  ) throws(StoreFailure) -> [UInt8] {
    let query = try NotificationQuery(request.body, call.query, environment: call.environment, now: now)
    let life = query.transactionId.flatMap { try? lives.life($0).id }
    let page = query.page(
      of: poster.archive, app: app.bundleId, environment: call.environment, life: life)
    return JSONWriter.object { json in
      json.member("notificationHistory", page.items) { write($0, to: &$1) }
      if page.hasMore { json.member("paginationToken", page.items.last.map { query.token(after: $0.number) }) }
      json.member("hasMore", page.hasMore)
    }
  }

  private func write(_ notification: SimulatedNotification, to json: inout JSONWriter) {
    json.member("signedPayload", notification.signedPayload(renderer.signer))
    json.member("sendAttempts", notification.attempts) { attempt, json in
      json.member("attemptDate", attempt.date)
      json.member("sendAttemptResult", attempt.result.rawValue)
    }
  }

  /// Posts a test. Apple posts it in version 2, whatever the version of the others.
  private func test(_ call: StoreCall, of app: Simulator.App, now: Int64) throws(StoreFailure) -> [UInt8] {
    guard !poster.settings.urls.isEmpty else { throw .noNotificationURL }
    var notification = SimulatedNotification(
      number: poster.archive.next, uuid: Self.uuid(), type: "TEST", environment: call.environment,
      bundleId: app.bundleId, appAppleId: app.appAppleId, signedDate: now, urls: poster.settings.urls)
    do { try finish(&notification) } catch { throw .general }
    poster.send(notification)
    return JSONWriter.object { $0.member("testNotificationToken", "\(notification.uuid)_\(now)") }
  }

  private func status(ofTest call: StoreCall, of app: Simulator.App) throws(StoreFailure) -> [UInt8] {
    let parts = call.transactionId.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.count == 36, Int64(parts[1]) != nil else { throw .invalidTestToken }
    guard let notification = poster.archive[uuid: String(parts[0])], notification.type == "TEST",
      notification.environment == call.environment, notification.bundleId == app.bundleId
    else { throw .testNotFound }
    return JSONWriter.object { write(notification, to: &$0) }
  }

  private func consume(
    _ call: StoreCall, _ request: HTTP2Request, of app: Simulator.App, now: Int64
  ) throws(StoreFailure) {
    guard call.query.isEmpty else { throw .badRequest }
    let version = call.endpoint == .consumption ? 2 : 1
    guard let life = try? lives.life(call.transactionId) else {
      // A scenario's purchase takes any good answer.
      let question = StoreQuestion(
        endpoint: .transactions, transactionId: call.transactionId, environment: call.environment, app: app, now: now)
      guard case .purchase = StoreDecision(question).answer else { throw .transactionIdNotFound }
      _ = try ConsumptionBody(request.body, version: version, kind: nil)
      return
    }
    guard life.terms.bundleId == app.bundleId, life.terms.environment == call.environment else {
      throw .transactionIdNotFound
    }
    guard !life.terms.isFamilyShared else { throw .familyNotSupported }
    let body = try ConsumptionBody(request.body, version: version, kind: life.terms.kind)
    lives.consume(
      call.transactionId,
      LifeRefundRequest.Answer(time: now, version: version, body: body.value, isInTime: false))
  }
}
