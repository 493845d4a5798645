import Testing

@testable import Domain

/// What a notification does to the requests about a transaction.
struct RefundStepTests {
  private typealias R = TestRefunds

  private func step(_ notice: RefundNotice, _ known: RefundRequest?, now hours: Int64? = nil) -> RefundRequest.Step {
    RefundRequest.step(
      notice, after: known, of: R.purchase(), now: R.asked + (hours.map { $0 * R.hour } ?? notice.signedDate - R.asked))
  }

  @Test func `the first question begins a request, with twelve hours from its signature`() throws {
    guard case .begun(let request, nil) = step(R.question(after: 0), nil, now: 3) else {
      return #expect(Bool(false))
    }
    #expect(request.requestedAt == R.asked && request.deadline == R.asked + 12 * R.hour)
    #expect(request.state == .open && request.dueAt == request.deadline && request.seenAt == R.asked)
    #expect(request.reason == "LEGAL" && request.customerId == "me" && request.kind == .autoRenewable)
    #expect(RefundRequestId.isValid(request.id.text))
    // The same question makes the same request, in whichever commit.
    #expect(step(R.question(after: 0), nil, now: 4) == .begun(request, ended: nil))
  }

  @Test(arguments: [RefundRequest.State.open, .sending, .withheld, .refused])
  func `a repeat only moves what was seen last, and never the deadline`(state: RefundRequest.State) {
    let known = R.request(state)
    var seen = known
    seen.seenAt = R.asked + 5 * R.hour
    #expect(step(R.question(after: 5), known) == .seen(seen))
    #expect(seen.deadline == known.deadline)
    // In any order, and any number of times.
    #expect(step(R.question(after: 5), seen) == .nothing)
    #expect(step(R.question(after: 3), seen) == .nothing)
    #expect(step(R.question(after: 0), known) == .nothing)
  }

  @Test(arguments: [RefundRequest.State.answered, .decided])
  func `a question behind the answer or the decision is a new one, and one before is a repeat`(
    state: RefundRequest.State
  ) {
    let known = R.request(state, endedAfter: 2)
    guard case .seen(let seen) = step(R.question(after: 1), known, now: 4) else { return #expect(Bool(false)) }
    #expect(seen.state == state && seen.endedAt == known.endedAt)
    guard case .begun(let next, nil) = step(R.question(after: 3), known) else { return #expect(Bool(false)) }
    #expect(next.requestedAt == R.asked + 3 * R.hour && next.id != known.id)
  }

  @Test func `a question behind the deadline is a new one, and ends what was pending`() {
    for state in RefundRequest.State.allCases {
      let known = R.request(state)
      guard case .begun(let next, let ended) = step(R.question(after: 12), known) else {
        #expect(Bool(false), "\(state)")
        continue
      }
      #expect(next.deadline == R.asked + 24 * R.hour)
      #expect(ended?.state == (state.isPending ? .expired : nil))
      #expect(ended?.dueAt == nil)
    }
  }

  @Test func `a question that comes too late to be answered begins nothing`() {
    #expect(step(R.question(after: 0), nil, now: 12) == .nothing)
    #expect(step(R.question(after: 0), nil, now: 11) != .nothing)
  }

  @Test func `a question about an unknown transaction begins nothing`() {
    let notice = RefundNotice(.asked(reason: nil), transactionId: "9", signedDate: R.asked)
    #expect(step(notice, nil) == .nothing)
  }

  @Test func `a question that comes behind the refund begins nothing, unless Apple asked afterwards`() {
    func begins(revoked: Double) -> Bool {
      let notice = R.question(after: 0)
      return RefundRequest.step(notice, after: nil, of: R.purchase(revoked: revoked), now: R.asked) != .nothing
    }
    #expect(!begins(revoked: 10.1))
    #expect(!begins(revoked: 10))
    // A part of the price was paid back before.
    #expect(begins(revoked: 9))
  }

  @Test(arguments: [RefundRequest.State.answered, .decided])
  func `a question that was seen begins nothing again, also where the clock that ended it was behind`(
    state: RefundRequest.State
  ) {
    var known = R.request(state, endedAfter: -1)
    #expect(step(R.question(after: 0), known) == .nothing)
    known.seenAt = R.asked + 2 * R.hour
    #expect(step(R.question(after: 2), known) == .nothing)
    guard case .begun = step(R.question(after: 3), known) else { return #expect(Bool(false)) }
  }

  @Test(arguments: [RefundRequest.State.open, .sending, .withheld, .refused])
  func `Apple's decision ends what Apple has no answer to, when Apple signed it`(state: RefundRequest.State) {
    var known = R.request(state)
    known.answeredBy = .publisher
    guard case .changed(let ended) = step(R.decision(after: 1), known, now: 4) else { return #expect(Bool(false)) }
    #expect(ended.state == .decided && ended.dueAt == nil && ended.endedAt == R.asked + R.hour)
    #expect(ended.answeredBy == .publisher && ended.answer == known.answer)
    // The decision about an earlier request, late.
    #expect(step(R.decision(after: 0), known) == .nothing)
  }

  @Test func `Apple's decision changes nothing about what is over`() {
    for state in [RefundRequest.State.answered, .decided, .expired] {
      #expect(step(R.decision(after: 1), R.request(state)) == .nothing)
    }
    #expect(step(R.decision(after: 1), nil) == .nothing)
  }

  /// The decision arrives late: our clock says two hours, Apple's says half an hour.
  @Test func `after a declined refund that nobody answered, a new question is a new request`() throws {
    let (minute, start) = (R.hour / 60, R.asked)
    guard case .begun(var request, nil) = step(R.question(after: 0), nil) else { return #expect(Bool(false)) }
    #expect(try request.fulfil(.withhold, now: start + 10 * minute))
    let declined = RefundNotice(.decided, transactionId: "1", signedDate: start + 30 * minute)
    guard case .changed(let decided) = step(declined, request, now: 2) else { return #expect(Bool(false)) }
    #expect(decided.endedAt == start + 30 * minute)
    guard case .begun(let next, nil) = step(R.question(after: 1), decided, now: 2) else {
      return #expect(Bool(false))
    }
    #expect(next.state == .open && next.requestedAt == start + R.hour && next.id != request.id)
  }

  @Test func ids() {
    #expect(RefundRequestId.isValid("rfr_0123456789abcdef0123456789abcdef"))
    for text in ["", "rfr_", "rfr_0123456789abcdef0123456789abcdeF", "evt_0123456789abcdef0123456789abcdef"] {
      #expect(!RefundRequestId.isValid(text))
    }
  }
}
