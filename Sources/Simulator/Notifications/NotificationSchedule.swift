/// When Apple posts again what was not received.
enum NotificationSchedule {
  /// Returns the wait before the next attempt; `nil` when there is none.
  ///
  /// - Parameter attempts: how many there were.
  static func wait(after attempts: Int, version: Int, in environment: StoreEnvironment, _ scale: LifeScale) -> Int64? {
    // The sandbox tries once.
    guard environment == .production, attempts >= 1 else { return nil }
    let hours: [Int64] = version == 1 ? [6, 24, 48] : [1, 12, 24, 48, 72]
    return attempts <= hours.count ? max(1, scale.hours(hours[attempts - 1])) : nil
  }
}
