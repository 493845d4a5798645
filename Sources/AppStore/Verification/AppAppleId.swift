/// Apple's id of an app, as signed data or a configuration names it.
///
/// Apple writes 0 where there is no id: in the app transactions of the sandbox (`appAppleId` of `AppTransaction`). So 0
/// is no id here, and no other place compares the numbers themselves.
public struct AppAppleId: Hashable, Sendable, CustomStringConvertible {
  /// The id in App Store Connect, never 0.
  public let number: Int64

  /// Takes an id as it was told; `nil` for 0 and for none.
  public init?(_ told: Int64?) {
    guard let told, told != 0 else { return nil }
    number = told
  }

  public var description: String { "\(number)" }

  /// Whether two pieces of data may be of one app: both name the same id, or one of them names none.
  static func mayAgree(_ one: AppAppleId?, _ other: AppAppleId?) -> Bool {
    guard let one, let other else { return true }
    return one == other
  }
}
