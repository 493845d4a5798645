import EventLoop
import Fleets
import HTTP
import TestSupport

/// The clients: they register purchases as long as the run lasts.
extension Chaos {
  /// Sends the registrations of a run at their pace, and waits for their answers.
  ///
  /// - Parameter mostWaiting: how many of them may wait for their answers or events, and a quarter as many for their
  ///   answers; `nil`: any number. A scenario that judges delays has such a number: otherwise a slow machine would fall
  ///   behind the clients, and the row would measure how far.
  func load(for leastSeconds: Double, mostWaiting: Int? = nil) async {
    var pending: [Task<Void, Never>] = []
    let start = ContinuousClock.now
    var held = Duration.zero
    for number in 0..<max(size.registrations, Int(size.perSecond * leastSeconds)) where !Task.isCancelled {
      let due = start + held + .seconds(Double(number) / size.perSecond)
      let wait = due - ContinuousClock.now
      if wait > .zero { try? await EventLoop.sleep(for: wait) }
      if let mostWaiting {
        let full = ContinuousClock.now
        // If no event comes at all, the clients go on: the verdict tells it.
        // And a client that opens a connection for each request of a second is a crowd of its own to a gateway.
        while untold.count >= mostWaiting || unanswered >= mostWaiting / 4, ContinuousClock.now - full < .seconds(60),
          !Task.isCancelled
        {
          try? await EventLoop.sleep(for: .milliseconds(10))
        }
        held += ContinuousClock.now - full
      }
      let transaction = transaction(Int.random(in: 0..<size.transactions, using: &loadRandom))
      let gateway = usable.sorted().randomElement(using: &loadRandom)
      let id = "s\(number)"
      untold.insert(id)
      unanswered += 1
      pending.append(
        Task { @LoopActor in
          await self.register(id, transaction, gateway)
          self.unanswered -= 1
        })
    }
    for task in pending { await task.value }
    guard held > .seconds(1) else { return }
    history.measures.append("the clients waited \(held.components.seconds) s for events before they sent more")
  }

  private func transaction(_ number: Int) -> String {
    "\(kinds[number % kinds.count])\(1_000_000 + number)"
  }

  /// Registers a purchase and notes the answer.
  @discardableResult
  func register(
    _ id: String, _ transaction: String, _ gateway: String?, customer: Int? = nil
  ) async -> History.Answer {
    let registration = await attempt(id, transaction, gateway, customer: customer)
    history.registrations.append(registration)
    if registration.answer != .accepted || told[id] != nil { untold.remove(id) }
    return registration.answer
  }

  /// Registers purchases that must all be accepted, by the ids of their synchronizations.
  func registerAll(_ purchases: [String: String]) async throws {
    for (id, transaction) in purchases.sorted(by: { $0.key < $1.key }) {
      let answer = await register(id, transaction, Self.gateways[0])
      guard answer == .accepted else { throw ScenarioFailure(description: "\(id) was not accepted: \(answer)") }
    }
  }

  /// The transactions that a worker asked Apple for.
  var asked: Set<String> { Set(history.calls.map(\.transaction)) }

  /// Registers every transaction once more, after every fault has ended: a claim that stayed would cause a 409.
  func registerAgain() async throws {
    let answers = Dictionary(grouping: history.registrations, by: \.transaction).mapValues { $0.map(\.answer) }
    for transaction in answers.keys.sorted() {
      // If a client got no answer, its claim stays until the sweep has looked. Any other claim ends with the event.
      let answers = answers[transaction] ?? []
      var isLingering = answers.allSatisfy { $0 == .accepted || $0 == .conflict }
      let deadline = ContinuousClock.now + min(.patience, .seconds(sweepAfter + 30))
      while true {
        let registration = await attempt("again-\(transaction)", transaction, Self.gateways[0])
        if registration.answer == .accepted {
          history.lastRegistrations.append(registration)
          break
        }
        // A gateway may still be on its way back to a server.
        let mayPass = registration.answer == .conflict || registration.answer == .unavailable
        guard mayPass, ContinuousClock.now < deadline else {
          history.stillClaimed[transaction] =
            "\(registration.answer)" + (registration.cause.map { " (\($0))" } ?? "")
          break
        }
        if registration.answer == .conflict {
          if isLingering { history.lingeringClaims.append(transaction) }
          isLingering = false
        }
        try await EventLoop.sleep(for: .milliseconds(200))
      }
    }
  }

  private func attempt(
    _ id: String, _ transaction: String, _ gateway: String?, customer: Int? = nil
  ) async -> History.Registration {
    if let customer { chosen[transaction] = customer }
    // A purchase belongs to the first customer who registers it. One of ten registrations names another customer.
    let most = Self.mostPublishers
    let regular = regularCustomer(of: transaction)
    let customer = customer ?? (Int.random(in: 0..<10, using: &loadRandom) == 0 ? regular + most : regular)
    let sentAt = unixMilliseconds()
    let (answer, cause) = await answer(id, transaction, customer, gateway)
    return History.Registration(
      id: id, transaction: transaction, customer: customer, sentAt: sentAt, answeredAt: unixMilliseconds(),
      answer: answer, cause: cause)
  }

  /// Who registers a transaction, unless the scenario names somebody: a customer of the same publisher as whom the
  /// scenario has named.
  private func regularCustomer(of transaction: String) -> Int {
    let most = Self.mostPublishers
    if let chosen = chosen[transaction] {
      let publisher = publisher(of: String(chosen))
      return (1...most).first { self.publisher(of: String($0)) == publisher } ?? 1
    }
    return transaction.utf8.reduce(0) { ($0 * 31 + Int($1)) % most } + 1
  }

  private func answer(
    _ id: String, _ transaction: String, _ customer: Int, _ gateway: String?
  ) async -> (History.Answer, cause: String?) {
    guard let gateway else { return (.refused, nil) }
    do {
      // Every second request uses a connection of its own: on a kept-alive one, libcurl hides a reset by asking again.
      let response = try await fleet.send(
        "POST", fleet.url("/storekit2/purchases", gateway: gateway),
        fleet.headers(publisher(of: String(customer))) + [("Correlation-Id", id)],
        "{\"cleengCustomerId\":\(customer),\"transactionId\":\"\(transaction)\"}", timeout: .seconds(20),
        freshly: Bool.random(using: &loadRandom))
      switch response.status {
      case 202: return (.accepted, nil)
      case 409: return (.conflict, nil)
      // The answer must tell the client when to come again.
      case 503: return (response.header("retry-after") == nil ? .unexpected(503) : .unavailable, nil)
      default: return (.unexpected(response.status), nil)
      }
    } catch {
      return ((error as? HTTPClientError)?.code == .unreachable ? .refused : .unknown, "\(error)")
    }
  }
}
