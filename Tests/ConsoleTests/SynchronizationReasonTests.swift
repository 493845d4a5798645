import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// The filter of waiting synchronizations: the reason.
struct SynchronizationReasonTests {
  private static func view(_ role: ConsoleRole = .support) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: AnsweredPurchases.now)
  }

  private static func page(
    _ view: ConsoleView, _ cause: String?, rows: Int = 0, next: ConsolePlace? = nil
  ) -> SynchronizationsPage {
    let row = ConsoleSynchronization(publisherId: 7, id: "s", transactionId: "1", customerId: "42", dueAt: view.now)
    return SynchronizationsPage(
      view: view, question: ListQuestion(choices: [7], filters: cause.map { ["cause": $0] } ?? [:]),
      found: ConsoleRows(Array(repeating: row, count: rows), next: next),
      progress: Array(repeating: SynchronizationProgress(status: .retrying, cause: .network), count: rows))
  }

  @Test func `each reason has a text and words of its own`() {
    let all = SynchronizationReason.all
    #expect(all.count == RetryCause.allCases.count + 2)
    #expect(Set(all.map(\.text)).count == all.count && Set(all.map(\.words)).count == all.count)
    for reason in all { #expect(SynchronizationReason(reason.text) == reason) }
    for text in ["", "other", "Running", "network ", "ne\u{301}twork"] { #expect(SynchronizationReason(text) == nil) }
  }

  @Test(
    arguments: [
      (.processing, nil, "running"), (nil, nil, "lost"), (.retrying, .network, "network"),
      (.retrying, .budget, "budget"),
      // An older worker wrote no cause; it ended a moment ago.
      (.retrying, nil, nil), (.finalized, nil, nil), (.finalized, .network, nil),
    ] as [(Synchronization.Status?, RetryCause?, String?)])
  func `a synchronization waits for one reason`(status: Synchronization.Status?, cause: RetryCause?, text: String?) {
    let progress = SynchronizationProgress(status: status, cause: cause)
    #expect(SynchronizationReason.all.filter { $0.matches(progress) }.map(\.text) == (text.map { [$0] } ?? []))
  }

  @Test func `the list shows the choice, what helps, and an address that can be shared`() throws {
    let view = try Self.view()
    let all = Self.page(view, nil, rows: 1)
    #expect(all.isReadable && all.reason == nil && !all.html.contains("Nothing must be done"))
    // Whoever tries all of a kind means a mended key most often.
    #expect(all.html.contains("<option value=\"unauthorized\" selected=\"selected\">"))
    let some = Self.page(view, "network", rows: 1, next: ConsolePlace(5, 7, "s"))
    #expect(some.isReadable && some.reason == .retried(.network))
    #expect(some.html.ranges(of: "<option value=\"network\" selected=\"selected\">").count == 2)
    #expect(some.html.contains("/c/synchronizations?cause=network&amp;after=5.7.s"))
    #expect(some.html.contains("Nothing must be done"))
    #expect(String(decoding: some.json, as: UTF8.self).contains("/c/synchronizations.json?cause=network&after=5.7.s"))
    #expect(!Self.page(view, "other").isReadable)
    #expect(Self.page(view, "lost").html.contains("None waits for this reason now."))
    #expect(Self.page(view, "lost", next: ConsolePlace(5, 7, "s")).html.contains("on the next one"))
  }

  @Test func `a refused form for all of them stays, also on an empty list`() throws {
    var view = try Self.view()
    #expect(!Self.page(view, nil).html.contains("Try all of a kind"))
    view.refuse(.retryAll, [("cause", "tls"), ("publisher", "")], "None waits for this reason now.")
    let page = Self.page(view, nil).html
    #expect(page.contains("Try all of a kind") && page.contains("role=\"alert\""))
    #expect(page.contains("<option value=\"tls\" selected=\"selected\">"))
  }
}
