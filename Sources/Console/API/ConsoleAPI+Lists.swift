import Coordination
import Domain
import HTTPServer
import Ledger
import Service

/// The pages that list something of every publisher that the reader may see.
extension ConsoleAPI {
  func list(
    _ list: ConsoleList, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let question: ListQuestion
    do {
      question = try ListQuestion(request, list, reader.view.person, context.publishers.all.map(\.id))
    } catch .unreadable {
      return reader.notUnderstood(
        "The address has a value that this page cannot use. Open the page from its link above.")
    } catch .nothing {
      return reader.nothing
    }
    switch list {
    case .refundRequests: return try await refundRequests(question, reader)
    case .unclaimed: return try await unclaimed(question, reader)
    case .audit: return try await audit(question, reader)
    case .endpoints: return try await endpoints(question, reader)
    case .notifications: return try await notifications(question, reader)
    case .synchronizations: return try await synchronizations(question, reader)
    case .configuration:
      let page = ConfigurationPage(
        view: reader.view, question: question, context.publishers, try await beats.all())
      return reader.answer(html: page.html, json: page.json)
    case .dead: return try await dead(question, reader)
    case .imports:
      var page = ImportsPage(view: reader.view, question: question)
      page.found = try await ConsoleImports(postgres).imports(
        of: question.publishers, after: question.after, limit: ListPage.most)
      return reader.answer(html: page.html, json: page.json)
    case .fleet: return try await fleet(question, reader)
    }
  }

  private func refundRequests(_ question: ListQuestion, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    let store = ConsoleRefunds(postgres)
    var page = RefundRequestsPage(view: reader.view, question: question)
    guard page.isReadable else { return reader.noSuchState }
    let publishers = question.publishers
    if let state = page.state {
      page.found = try await store.requests(of: publishers, in: state, after: question.after, limit: ListPage.most)
    } else {
      page.found = try await store.pending(of: publishers, after: question.after, limit: ListPage.most)
    }
    page.policies = Dictionary(
      publishers.compactMap { id in context.publishers[id].map { (id, $0.offers) } },
      uniquingKeysWith: { one, _ in one })
    return reader.answer(html: page.html, json: page.json)
  }

  private func unclaimed(_ question: ListQuestion, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    var page = UnclaimedPage(view: reader.view, question: question)
    if let publisher = question.publishers.first {
      page.found = try await ConsoleUnclaimed(postgres).purchases(
        of: publisher, in: page.environment, after: question.after, now: context.now(), limit: ListPage.most)
    }
    return reader.answer(html: page.html, json: page.json)
  }

  private func audit(_ question: ListQuestion, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    let person = reader.view.person
    var page = AuditPage(
      view: reader.view, question: question, names: AuditNames(reader: person, people: signIn.present))
    guard page.customer == nil || person.role.seesPersonalData else { return reader.notForViewers }
    page.found = try await ConsoleAudit(postgres).entries(
      of: question.publishers, about: page.customer, after: question.after, limit: ListPage.most)
    return reader.answer(html: page.html, json: page.json)
  }
}
