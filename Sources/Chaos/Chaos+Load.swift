import EventLoop
import HTTPClient
import TestSupport

/// The clients: they register purchases as long as the run lasts.
extension Chaos {
  func load(for leastSeconds: Double) async {
    var pending: [Task<Void, Never>] = []
    let start = ContinuousClock.now
    for number in 0..<max(size.registrations, Int(size.perSecond * leastSeconds)) {
      let due = start + .seconds(Double(number) / size.perSecond)
      let wait = due - ContinuousClock.now
      if wait > .zero { try? await EventLoop.sleep(for: wait) }
      let transaction = transaction(Int.random(in: 0..<size.transactions, using: &loadRandom))
      let gateway = usable.sorted().randomElement(using: &loadRandom)
      pending.append(Task { @LoopActor in await self.register("s\(number)", transaction, gateway) })
    }
    for task in pending { await task.value }
  }

  /// Subscriptions, single purchases, purchases in the sandbox and, now and then, a first call that fails.
  private func transaction(_ number: Int) -> String {
    let prefixes = ["100", "100", "103", "106", "110", "111", "112", "100", "131", "134", "121", "122"]
    return "\(prefixes[number % prefixes.count])\(1_000_000 + number)"
  }

  /// Registers a purchase and notes the answer.
  @discardableResult
  func register(_ id: String, _ transaction: String, _ gateway: String?) async -> History.Answer {
    let registration = await attempt(id, transaction, gateway)
    history.registrations.append(registration)
    return registration.answer
  }

  /// Registers every transaction once more, when everything is mended: a claim that stayed would be a 409.
  func registerAgain() async throws {
    for transaction in Set(history.registrations.map(\.transaction)).sorted() {
      // What was claimed for a client that got no answer is only given up when the sweep has looked.
      let deadline = ContinuousClock.now + .seconds(sweepAfter + 30)
      while true {
        let registration = await attempt("again-\(transaction)", transaction, Self.gateways[0])
        if registration.answer == .accepted {
          history.lastRegistrations.append(registration)
          break
        }
        guard registration.answer == .conflict, ContinuousClock.now < deadline else {
          history.stillClaimed[transaction] = "\(registration.answer)"
          break
        }
        try await EventLoop.sleep(for: .milliseconds(200))
      }
    }
  }

  private func attempt(_ id: String, _ transaction: String, _ gateway: String?) async -> History.Registration {
    let sentAt = unixMilliseconds()
    let answer = await answer(id, transaction, gateway)
    return History.Registration(
      id: id, transaction: transaction, sentAt: sentAt, answeredAt: unixMilliseconds(), answer: answer)
  }

  private func answer(_ id: String, _ transaction: String, _ gateway: String?) async -> History.Answer {
    guard let gateway else { return .refused }
    // A purchase belongs to one customer, so the customer follows from the transaction.
    let customer = transaction.utf8.reduce(0) { ($0 * 31 + Int($1)) % 50 } + 1
    do {
      // Over a connection of its own every other time: on one that was kept alive, libcurl hides a reset by asking again.
      let response = try await fleet.send(
        "POST", fleet.url("/storekit2/purchases", gateway: gateway),
        fleet.headers(RunningFleet.openPublisher) + [("Correlation-Id", id)],
        "{\"cleengCustomerId\":\(customer),\"transactionId\":\"\(transaction)\"}", timeout: .seconds(20),
        freshly: Bool.random(using: &loadRandom))
      switch response.status {
      case 202: return .accepted
      case 409: return .conflict
      // A client must be told when to come again.
      case 503: return response.header("retry-after") == nil ? .unexpected(503) : .unavailable
      default: return .unexpected(response.status)
      }
    } catch let error as HTTPClientError {
      return error.code == .unreachable ? .refused : .unknown
    } catch {
      return .unknown
    }
  }
}
