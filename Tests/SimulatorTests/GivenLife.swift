import Formats

@testable import Simulator

/// A life that a test takes through its states, with a clock that the test moves.
struct GivenLife {
  /// A month takes a minute.
  static let scale = LifeScale(monthMilliseconds: 60_000)
  static let start: Int64 = 1_790_000_000_000
  static let month: Int64 = 60_000

  var life: Life
  var now = Self.start
  var numbers = LifeNumbers(start: Self.start)
  /// What Apple has told, as `TYPE` or `TYPE/SUBTYPE`.
  var told: [String] = []

  init(_ change: (inout LifeTerms) -> Void = { _ in }) {
    var terms = LifeTerms(
      bundleId: "com.example.app", appAppleId: 1, productId: "com.example.app.monthly", price: 9_990,
      period: Self.month)
    change(&terms)
    life = Life("2000000000000001", terms, scale: Self.scale, now: now, &numbers)
    note(life.beginning)
  }

  /// Lets something happen; returns what it leads to.
  @discardableResult
  mutating func does(_ action: LifeAction) throws -> Life.Effect {
    let effect = try life.apply(action, at: now, &numbers)
    if let notice = effect.notice { note(notice) }
    return effect
  }

  /// Lets time pass; changes happen when they are due.
  mutating func passes(_ milliseconds: Int64) {
    let end = now + milliseconds
    while let due = life.due, due <= end {
      now = max(now, due)
      if let notice = life.passTime(to: now, &numbers) { note(notice) }
    }
    now = end
  }

  private mutating func note(_ notice: LifeNotice) {
    told.append(notice.subtype.map { "\(notice.type)/\($0)" } ?? notice.type)
  }

  /// When the access ends, counted from the beginning.
  var accessEnds: Int64? {
    let access = life.access(at: now)
    return access.isGiven ? access.until.map { $0 - Self.start } : nil
  }
}
