import Configuration
import Coordination
import Domain
import EventLoop
import Formats
import HTTPServer
import Ledger
import Service

/// What comes in: Apple's notifications, and registrations.
extension ConsoleAPI {
  func notifications(_ question: ListQuestion, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    var page = NotificationsPage(view: reader.view, question: question)
    guard let choice = page.choice else { return reader.noSuchState }
    let end = ContinuousClock.now + context.settings.console.statementTimeout
    // It may take a connection for as long as a timeline.
    let found = try await timelines.run(of: reader.view.person.name) { [postgres] in
      try await ConsoleNotifications(postgres).page(
        choice, of: question.publishers, after: question.after, limit: ListPage.most, until: end)
    }
    guard let found else {
      return reader.busy
    }
    page.found = found
    if question.after == nil { page.sources = try await sources(of: question.publishers) }
    return reader.answer(html: page.html, json: page.json)
  }

  private func sources(of publishers: [PublisherId]) async throws -> [NotificationSource] {
    let keys = publishers.lazy.compactMap { [context] in context.publishers[$0] }.flatMap { publisher in
      publisher.apps.flatMap { app in
        [Environment.production, .sandbox].filter(app.environments.contains).map {
          NotificationSource.Key(publisherId: publisher.id, bundleId: app.bundleId, environment: $0)
        }
      }
    }.prefix(NotificationsPage.mostSources)
    guard !keys.isEmpty else { return [] }
    return try await NotificationSources(postgres).states(of: Array(keys)).map(\.source)
  }

  func notification(_ key: NotificationKey, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard let publisher = publisher(key.publisherId, reader),
      let found = try await ConsoleNotifications(postgres).notification(key)
    else { return reader.nothing }
    let page = NotificationPage(
      view: reader.view, notification: found, isForwarded: !publisher.notifications.forwards.isEmpty)
    return reader.answer(html: page.html, json: page.json)
  }

  func synchronizations(_ question: ListQuestion, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    var page = SynchronizationsPage(view: reader.view, question: question)
    guard page.isReadable else { return reader.noSuchState }
    if let reason = page.reason {
      // It looks at many, and Redis tells of each.
      let found = try await timelines.run(of: reader.view.person.name) { try await self.waiting(for: reason, question) }
      guard let found else { return reader.busy }
      guard let found else {
        return reader.message(503, "Not read", "Redis did not say why they wait. Load the page again in a moment.")
      }
      page.found = ConsoleRows(found.rows.map(\.row), next: found.next)
      page.progress = found.rows.map(\.progress)
    } else {
      page.found = try await ConsoleSynchronizations(postgres, doors: context.doors).waiting(
        of: question.publishers, after: question.after, limit: ListPage.most)
      page.progress = await progress(of: page.found.rows.map(\.key))
    }
    return reader.answer(html: page.html, json: page.json)
  }

  /// Those that wait for one reason, of as many as can be looked at in half of a page's time. Other pages wait in the
  /// same line, and their time runs. The next page goes on from there.
  ///
  /// - Returns: `nil` if Redis does not answer.
  private func waiting(
    for reason: SynchronizationReason, _ question: ListQuestion
  ) async throws -> ConsoleRows<(row: ConsoleSynchronization, progress: SynchronizationProgress)>? {
    let store = ConsoleSynchronizations(postgres, doors: context.doors)
    var found: [(row: ConsoleSynchronization, progress: SynchronizationProgress)] = []
    var place = question.after
    let end = ContinuousClock.now + context.settings.console.statementTimeout / 2
    for look in 0..<SynchronizationsPage.mostLooks where look == 0 || ContinuousClock.now < end {
      let looked = try await store.waiting(
        of: question.publishers, after: place, limit: SynchronizationsPage.lookedAtOnce)
      guard let progress = await progress(of: looked.rows.map(\.key)) else { return nil }
      for (row, state) in zip(looked.rows, progress) where reason.matches(state) {
        guard found.count < ListPage.most else { return ConsoleRows(found, next: found.last?.row.place) }
        found.append((row, state))
      }
      place = looked.next
      if place == nil { break }
    }
    return ConsoleRows(found, next: place)
  }

  func synchronization(_ key: SynchronizationsKey, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard publisher(key.publisherId, reader) != nil else { return reader.nothing }
    let found = try await synchronizations(key)
    guard !found.isEmpty else {
      // It may be too young for the ledger.
      guard let progress = await progress(of: [key])?.first, progress.status != nil else { return reader.nothing }
      return reader.message(
        200, "Under way",
        "This synchronization is under way, and the ledger has nothing of it yet. Load the page again in a moment.")
    }
    let page = SynchronizationPage(
      view: reader.view, key: key, found: found, progress: await progress(of: [key])?.first)
    return reader.answer(html: page.html, json: page.json)
  }

  func synchronizations(_ key: SynchronizationsKey) async throws -> [ConsoleSynchronization] {
    try await ConsoleSynchronizations(postgres, doors: context.doors).synchronizations(key.publisherId, key.id)
  }

  /// Asks Redis how far some are.
  ///
  /// - Returns: `nil` if it does not answer.
  private func progress(of keys: [SynchronizationsKey]) async -> [SynchronizationProgress]? {
    let tasks = keys.map { key in
      Task { @LoopActor [open] in
        let (status, cause) = try await open.progress(key.publisherId, key.id)
        return SynchronizationProgress(status: status, cause: cause)
      }
    }
    do {
      return try await tasks.allValues()
    } catch {
      log("console could not read states of synchronizations", error)
      return nil
    }
  }
}
