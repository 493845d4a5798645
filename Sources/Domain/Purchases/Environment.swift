/// Where Apple keeps a purchase, in Apple's word: `Production` or `Sandbox`. A word that this version does not know is
/// kept as it is.
public struct Environment: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// The App Store.
  public static let production = Environment("Production")
  /// Sandbox accounts, TestFlight and App Review.
  public static let sandbox = Environment("Sandbox")
  /// StoreKit testing in Xcode. Anybody can sign its data.
  public static let xcode = Environment("Xcode")
  /// A stand-in environment of Apple's libraries. Anybody can sign its data.
  public static let localTesting = Environment("LocalTesting")

  /// Whether Apple signs the data of this environment.
  ///
  /// Data of the other environments proves nothing. They are for a developer's own machine.
  public var isSignedByApple: Bool { self != .xcode && self != .localTesting }
}
