import AppStore
import Configuration
import Domain
import EventLoop
import HTTPServer
import Ledger
import Service

/// Each decides what the reader may see before it asks the ledger.
extension ConsoleAPI {
  func find(_ text: String, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    let view = reader.view
    let text = String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    let publishers = context.publishers.all.map(\.id).filter(view.person.sees)
    let hits = try await ConsoleFinder(postgres).find(
      text, among: publishers, FindPage.kinds(of: text, view.person.role))
    var page = FindPage(view: view, text: text, hits: hits)
    if hits.isEmpty { page.question = OrderQuestion(text, view, of: context.publishers.all) }
    if !reader.isJSON, let only = page.only { return ConsoleAnswer.seeOther(only.address) }
    let status = hits.isEmpty && !text.isEmpty && !reader.isJSON ? 404 : 200
    return reader.answer(status, html: page.html, json: page.json)
  }

  func customer(_ key: CustomerKey, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard publisher(key.publisherId, reader) != nil else { return reader.nothing }
    guard reader.view.person.role.seesPersonalData else { return reader.notForViewers }
    guard let page = try await customerPage(key, reader) else { return reader.nothing }
    return reader.answer(html: page.html, json: page.json)
  }

  /// Reads a customer's page for somebody who may see customers of the publisher; `nil` if there is none.
  func customerPage(_ key: CustomerKey, _ reader: ConsoleReader) async throws -> CustomerPage? {
    guard let publisher = publisher(key.publisherId, reader) else { return nil }
    async let timeline = timeline(of: key, reader)
    async let found = holdings.holdings(of: key)
    async let record = CustomerStore(postgres).customer(key.publisherId, key.id)
    async let sandbox = SandboxOverrides(postgres).last(of: key)
    async let purchases = PurchaseReader(postgres).allPurchases(of: key, limit: CustomerPage.mostPurchases + 1)
    let held = try await found
    guard held.isKnown else { return nil }
    // A price that cannot be read in time is left out. The page goes on without it.
    let renewals =
      (try? await RenewalPayloads.newest(
        of: NextCharge.renewing(held.purchases), within: context.settings.console.statementTimeout, postgres)) ?? [:]
    let last = try await sandbox
    return CustomerPage(
      view: reader.view, customer: key, email: try await record?.email,
      rules: publisher.accessRules(for: key.id, sandboxUntil: last.flatMap { $0.endedAt == nil ? $0.endsAt : nil }),
      lastSandbox: last, holdings: held, purchases: try await purchases, timeline: await timeline,
      charges: NextCharge.all(of: held.purchases, renewals, now: reader.view.now))
  }

  func purchase(_ key: PurchaseKey, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard let publisher = publisher(key.publisherId, reader) else { return reader.nothing }
    async let signed = signed(about: key, reader)
    async let timer = Timers(postgres).state(of: key)
    async let found = PurchaseReader(postgres).purchase(
      key.publisherId, key.originalTransactionId, in: [key.environment])
    guard let record = try await found else { return reader.nothing }
    let owner = record.ownerships.last { $0.endedAt == nil }?.customerId
    async let requests = ConsoleRefunds(postgres).requests(
      about: key, PurchasePage.newest(record.purchase, atMost: 500).map(\.transactionId), limit: PurchasePage.most)
    let (notifications, evidence) = await signed
    let page = PurchasePage(
      view: reader.view, record: record,
      rules: publisher.accessRules(for: owner ?? .nobody, owning: [record.purchase]), notifications: notifications,
      evidence: evidence, timer: try await timer, requests: try await requests, policies: publisher.offers)
    return reader.answer(html: page.html, json: page.json)
  }

  /// The publisher, if the reader may see it.
  func publisher(_ id: PublisherId, _ reader: ConsoleReader) -> Publisher? {
    reader.view.person.sees(id) ? context.publishers[id] : nil
  }

  // MARK: What may take long, and fails alone

  private func timeline(of key: CustomerKey, _ reader: ConsoleReader) async -> ConsoleTimeline.Reading {
    let end = ContinuousClock.now + context.settings.console.statementTimeout
    let reading = await timelines.run(of: reader.view.person.name) { [postgres] in
      await ConsoleTimeline(postgres).moments(of: key, limit: CustomerPage.mostMoments, until: end) {
        log("console timeline failed", $0)
      }
    }
    guard var reading else { return ConsoleTimeline.Reading(missing: ConsoleMoment.Kind.allCases) }
    let names = AuditNames(reader: reader.view.person, people: signIn.present)
    for place in reading.moments.indices {
      switch reading.moments[place].kind {
      case .note:
        let writer = reading.moments[place].about.flatMap { names.name(ofPerson: $0, at: key.publisherId) }
        reading.moments[place].about = writer ?? "somebody"
      case .change:
        reading.moments[place].detail = reading.moments[place].detail.map { names.who($0, at: key.publisherId) }
      default: break
      }
    }
    return reading
  }

  /// - Returns: `nil` for what could not be read.
  private func signed(
    about key: PurchaseKey, _ reader: ConsoleReader
  ) async -> (notifications: [ConsoleMoment]?, evidence: [ConsoleEvidence]?) {
    let end = ContinuousClock.now + context.settings.console.statementTimeout
    let found = await timelines.run(of: reader.view.person.name) { [postgres] in
      (
        await inTime(end) {
          try await ConsoleTimeline(postgres).notifications(of: key, limit: PurchasePage.most + 1, within: $0)
        },
        await inTime(end) {
          try await ConsoleEvidence.newest(of: key, limit: PurchasePage.most + 1, within: $0, postgres)
        }
      )
    }
    return found ?? (nil, nil)
  }

  /// Reads something within the rest of a time; `nil` if it could not be read.
  private func inTime<Value>(
    _ end: ContinuousClock.Instant, _ read: @LoopActor (Duration) async throws -> Value
  ) async -> Value? {
    let rest = ContinuousClock.now.duration(to: end)
    guard rest > .zero else { return nil }
    do {
      return try await read(rest)
    } catch {
      log("console timeline failed", error)
      return nil
    }
  }
}
