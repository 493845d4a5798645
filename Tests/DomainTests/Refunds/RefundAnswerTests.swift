import Testing

@testable import Domain

/// What a publisher may do with a request.
struct RefundAnswerTests {
  private typealias R = TestRefunds
  private let now = TestRefunds.asked + TestRefunds.hour

  private func refusal(
    _ wish: RefundRequest.Wish, _ request: RefundRequest, now: Int64? = nil
  ) -> RefundRequest.Refusal? {
    var request = request
    do {
      _ = try request.fulfil(wish, now: now ?? self.now)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [RefundRequest.State.open, .withheld, .refused])
  func `an answer is sent, and the same one again changes nothing`(state: RefundRequest.State) throws {
    var request = R.request(state)
    request.attempts = 3
    request.lastError = "x"
    #expect(try request.fulfil(.send(R.answer), now: now))
    #expect(request.state == .sending && request.answeredBy == .publisher && request.consent == nil)
    #expect(request.dueAt == now && request.attempts == 0 && request.lastError == nil && request.endedAt == nil)
    let sending = request
    #expect(try !request.fulfil(.send(R.answer), now: now + 1))
    #expect(request == sending)
    #expect(refusal(.send(R.other), request) == .isSending)
    #expect(refusal(.withhold, request) == .isSending)
  }

  @Test func `after the answer only the same one is no conflict`() throws {
    var request = R.request(.sending)
    request = request.after(.sent, now: now)
    #expect(try !request.fulfil(.send(R.answer), now: now))
    #expect(refusal(.send(R.other), request) == .isAnswered)
    #expect(refusal(.withhold, request) == .isAnswered)
    // Also when the deadline has passed.
    #expect(refusal(.send(R.answer), request, now: request.deadline + 1) == nil)
  }

  @Test func `a publisher who wants the policy's answer vouches for it`() throws {
    var request = R.request(.sending)
    #expect(try request.fulfil(.send(R.answer), now: now))
    #expect(request.state == .sending && request.answeredBy == .publisher && request.consent == nil)
    #expect(request.errand(R.refusal, now: now) == .send(R.answer))
    #expect(try !request.fulfil(.send(R.answer), now: now))
  }

  @Test func `a refused answer may be sent again`() throws {
    var request = R.request(.sending).after(.refused("x"), now: now)
    #expect(try request.fulfil(.send(R.answer), now: now))
    #expect(request.state == .sending)
  }

  @Test func `an answer may be withheld, and given all the same`() throws {
    var request = R.request()
    #expect(try request.fulfil(.withhold, now: now))
    #expect(request.state == .withheld && request.dueAt == nil && request.endedAt == now)
    #expect(request.answeredBy == .publisher && request.answer == nil)
    #expect(try !request.fulfil(.withhold, now: now))
    #expect(try request.fulfil(.send(R.other), now: now))
    #expect(request.state == .sending)
  }

  @Test func `what is over takes no answer`() {
    #expect(refusal(.send(R.other), R.request(.decided)) == .isDecided)
    #expect(refusal(.withhold, R.request(.decided)) == .isDecided)
    #expect(refusal(.send(R.other), R.request(.expired)) == .isLate)
    for state in [RefundRequest.State.open, .refused, .withheld] {
      let request = R.request(state)
      #expect(refusal(.send(R.other), request, now: request.deadline) == .isLate)
      #expect(refusal(.send(R.other), request, now: request.deadline - 1) == nil)
    }
  }
}
