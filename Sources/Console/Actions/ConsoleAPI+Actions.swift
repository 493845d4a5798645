import HTTPServer

/// What people do: each posts a form of a page. If it is not done, the same page answers, and says why.
extension ConsoleAPI {
  func act(
    _ action: ConsoleRoute.Action, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    do {
      return try await perform(action, request, reader)
    } catch let refusal as ConsoleRefusal {
      return await keep(action, refusal, request, reader)
    }
  }

  private func perform(
    _ action: ConsoleRoute.Action, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    switch action {
    case .give(let customer): return try await give(customer, request, reader)
    case .allowSandbox(let customer): return try await allowSandbox(for: customer, request, reader)
    case .withdrawSandbox(let customer): return try await withdrawSandbox(of: customer, request, reader)
    case .withdraw(let grant, let customer): return try await withdraw(grant, of: customer, request, reader)
    case .note(let customer): return try await write(noteAbout: customer, request, reader)
    case .release(let purchase): return try await release(purchase, request, reader)
    case .transfer(let purchase): return try await transfer(purchase, request, reader)
    case .check(let purchase): return try await check(purchase, request, reader)
    case .export(let customer): return try await export(customer, request, reader)
    case .erase(let customer): return try await erase(customer, request, reader)
    case .resend(let event, let endpoint): return try await resend(event, to: endpoint, request, reader)
    case .recover(let endpoint): return try await recover(endpoint, request, reader)
    case .endpoint(let change, let endpoint): return try await self.change(endpoint, change, request, reader)
    case .retry(let synchronizations): return try await retry(synchronizations, request, reader)
    case .dead(let change): return try await changeDead(change, request, reader)
    case .testNotification: return try await testNotification(request, reader)
    case .startLife: return try await startLife(request, reader)
    case .apply(let action, let key): return try await apply(action, to: key, request, reader)
    case .retryAll: return try await retryAll(request, reader)
    }
  }

  /// The page that has the form of an action which was not done: with the reason, and with what the person has filled
  /// in.
  ///
  /// If the person may not see the page, or it cannot be read now, a message has the reason.
  private func keep(
    _ action: ConsoleRoute.Action, _ refusal: ConsoleRefusal, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async -> HTTPServerResponse {
    guard case .notDone(let status, let words) = refusal else { return reader.answer(to: refusal) }
    let form = FormBody(request.body)
    var view = reader.view
    view.refused = RefusedAction(action: action, words: words, form: form)
    let asked = HTTPServerRequest(
      method: "GET", path: action.page.segments,
      query: action.choices.compactMap { name in form?[name].map { (name: name, value: $0) } }, origin: request.origin)
    do {
      var page = try await show(action.page, asked, ConsoleReader(view: view))
      if page.status == 200 {
        page.status = status
        return page
      }
    } catch {
      log("console could not show the page of an action", error)
    }
    return reader.answer(to: refusal)
  }
}
