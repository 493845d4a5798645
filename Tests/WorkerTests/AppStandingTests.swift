import Testing

@testable import Worker

/// Whether Apple takes a key, by value.
struct AppStandingTests {
  private let then: Int64 = 1_700_000_000_000
  private var standing = AppStanding()

  private func refused() -> AppStanding {
    var standing = AppStanding()
    _ = standing.refuse(at: then)
    return standing
  }

  @Test mutating func `a key of which nothing is known may be used, and has not been taken`() {
    #expect(standing.admit(at: then) == nil)
    #expect(standing.refusedSince == nil)
    #expect(!standing.isAccepted(at: then))
  }

  @Test mutating func `a good answer counts for five seconds`() {
    #expect(standing.accept(at: then) == false)
    #expect(standing.isAccepted(at: then) && standing.isAccepted(at: then + 5000))
    #expect(!standing.isAccepted(at: then + 5001) && !standing.isAccepted(at: then - 5001))
    #expect(standing.admit(at: then + 1) == nil)
  }

  @Test func `the first refusal is news, and others are not`() {
    var standing = AppStanding()
    #expect(standing.refuse(at: then) == true)
    #expect(standing.refuse(at: then + 10) == false)
    #expect(standing.refusedSince == then)
    #expect(!standing.isAccepted(at: then))
  }

  @Test func `a good answer ends a refusal, and a later refusal is news again`() {
    var standing = refused()
    #expect(standing.accept(at: then + 10) == true)
    #expect(standing.accept(at: then + 20) == false)
    #expect(standing.refusedSince == nil && standing.admit(at: then + 30) == nil)
    #expect(standing.refuse(at: then + 40) == true)
  }

  @Test func `in the first minute one call in five seconds is made`() {
    var standing = refused()
    #expect(standing.admit(at: then + 4999) == .seconds(5))
    #expect(!standing.allowsCall(at: then + 4999))
    // To ask whether it may be made is not to make it.
    for _ in 0..<2 { #expect(standing.allowsCall(at: then + 5000)) }
    #expect(standing.admit(at: then + 5000) == nil)
    #expect(!standing.allowsCall(at: then + 5000))
    // That call is under way, and no other one is made beside it.
    #expect(standing.admit(at: then + 5000) == .seconds(5))
    #expect(standing.admit(at: then + 9999) == .seconds(5))
    #expect(standing.admit(at: then + 10_000) == nil)
  }

  @Test func `later one call a minute is made, and jobs wait longer, five minutes at most`() {
    var standing = refused()
    #expect(standing.admit(at: then + 120_000) == nil)
    #expect(standing.admit(at: then + 179_999) == .milliseconds(89_999))
    #expect(standing.admit(at: then + 180_000) == nil)
    #expect(standing.admit(at: then + 3_600_000) == nil)
    #expect(standing.admit(at: then + 3_600_001) == .seconds(300))
  }

  @Test func `a clock that was set back puts no call off`() {
    var standing = refused()
    #expect(standing.admit(at: then - 3_600_000) == nil)
    #expect(standing.wait(at: then - 3_600_000) == .seconds(5))
  }
}
