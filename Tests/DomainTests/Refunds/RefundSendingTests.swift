import Formats
import Testing

@testable import Domain

/// What a worker does with a request that is due, and what follows from its call.
struct RefundSendingTests {
  private typealias R = TestRefunds
  private let now = TestRefunds.asked + TestRefunds.hour

  // MARK: Errands

  @Test func `a request is sent while the consent stands`() {
    #expect(R.request(.sending).errand(R.consent, now: now) == .send(R.answer))
  }

  @Test(arguments: [nil, TestRefunds.refusal])
  func `without the consent the publisher is asked`(consent: Consent?) {
    guard case .note(let next) = R.request(.sending).errand(consent, now: now) else { return #expect(Bool(false)) }
    #expect(next.state == .open && next.answer == nil && next.answeredBy == nil && next.consent == nil)
    #expect(next.dueAt == next.deadline)
  }

  @Test func `an erased customer has consented to nothing`() {
    let known = R.request(.sending)
    let request = RefundRequest(
      id: known.id, purchase: known.purchase, transactionId: "1", bundleId: "b", productId: "p", kind: known.kind,
      customerId: nil, reason: nil, requestedAt: known.requestedAt, state: .sending, answer: R.answer,
      answeredBy: .policy)
    guard case .note(let next) = request.errand(R.consent, now: now) else { return #expect(Bool(false)) }
    #expect(next.state == .open)
  }

  @Test func `the publisher vouches for its own answer`() throws {
    var request = R.request()
    _ = try request.fulfil(.send(R.other), now: now)
    #expect(request.errand(nil, now: now) == .send(R.other))
    #expect(request.errand(R.refusal, now: now) == .send(R.other))
  }

  @Test func `an open request is decided anew, and ends at its deadline`() {
    #expect(R.request().errand(R.consent, now: now) == .decide)
    for state in [RefundRequest.State.open, .sending] {
      let request = R.request(state)
      guard case .note(let next) = request.errand(R.consent, now: request.deadline) else {
        return #expect(Bool(false))
      }
      #expect(next.state == .expired && next.dueAt == nil && next.endedAt == request.deadline)
    }
  }

  @Test func `the publisher is asked after all where the policy's answer does not go out`() throws {
    let sending = R.request(.sending)
    guard case .note(let withdrawn) = sending.errand(R.refusal, now: now) else { return #expect(Bool(false)) }
    #expect(withdrawn.mustBeAsked(after: sending))
    #expect(sending.after(.refused("x"), now: now).mustBeAsked(after: sending))
    let others: [RefundRequest.CallResult] = [.sent, .failed("x"), .postponed("x", until: now)]
    for result in others { #expect(!sending.after(result, now: now).mustBeAsked(after: sending)) }
    guard case .note(let late) = sending.errand(R.consent, now: sending.deadline) else { return #expect(Bool(false)) }
    #expect(!late.mustBeAsked(after: sending))
  }

  @Test func `the publisher is not asked again about what it knows`() throws {
    var open = R.request()
    let before = open
    open.ask()
    #expect(!open.mustBeAsked(after: before))
    // A backend that answers each event in the same way must not go round and round.
    var own = R.request()
    _ = try own.fulfil(.send(R.other), now: now)
    #expect(!own.after(.refused("x"), now: now).mustBeAsked(after: own))
  }

  @Test func `what is told again is another event, and says that nobody answers`() throws {
    func event(_ request: RefundRequest, again revision: Int64? = nil) -> Event {
      Event(of: request, offerId: nil, version: 1, time: now, traceparent: nil, again: revision)
    }
    let sending = R.request(.sending)
    var open = sending
    open.ask()
    let (first, second) = (event(sending), event(open, again: 3))
    #expect(first.id != second.id && second.id != event(open, again: 4).id)
    #expect(second.id == event(open, again: 3).id)
    #expect(String(decoding: first.body, as: UTF8.self).contains(#""answering":true"#))
    #expect(String(decoding: second.body, as: UTF8.self).contains(#""answering":false"#))
    #expect(second.customerId == "me")
  }

  // MARK: Calls

  @Test func `a call that succeeds or is refused ends the request`() {
    let sent = R.request(.sending).after(.sent, now: now)
    #expect(sent.state == .answered && sent.attempts == 1 && sent.endedAt == now && sent.dueAt == nil)
    let refused = R.request(.sending).after(.refused("InvalidTransactionTypeNotSupported"), now: now)
    #expect(refused.state == .refused && refused.lastError == "InvalidTransactionTypeNotSupported")
    #expect(refused.dueAt == nil && refused.attempts == 1)
  }

  @Test func `a call that failed is made again, later each time, and for the last time before the deadline`() {
    var request = R.request(.sending)
    var time = R.asked
    var pauses: [Int64] = []
    while true {
      request = request.after(.failed("timeout"), now: time)
      guard let due = request.dueAt, due < request.deadline else { break }
      pauses.append(due - time)
      #expect(due > time && request.state == .sending && request.lastError == "timeout")
      time = due
    }
    #expect(Array(pauses.prefix(9)) == [2, 4, 8, 16, 32, 64, 128, 256, 512].map { $0 * 1000 })
    #expect(pauses.max() == 900_000)
    #expect(time == request.deadline - RefundRequest.lastTry)
    #expect(request.attempts == pauses.count + 1)
    #expect(request.dueAt == request.deadline)
    guard case .note(let ended) = request.errand(R.consent, now: request.deadline) else { return #expect(Bool(false)) }
    #expect(ended.state == .expired)
  }

  @Test func `waiting for the budget is no attempt`() {
    let request = R.request(.sending).after(.postponed("budget", until: now + 5000), now: now)
    #expect(request.attempts == 0 && request.dueAt == now + 5000 && request.state == .sending)
    #expect(R.request(.sending).after(.postponed("budget", until: 0), now: now).dueAt == now + 1000)
    let late = R.request(.sending).after(.postponed("budget", until: .max), now: now)
    #expect(late.dueAt == late.deadline - RefundRequest.lastTry)
  }
}
