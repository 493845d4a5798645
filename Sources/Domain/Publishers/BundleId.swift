/// Apple's id of an app, for example `com.example.app`: which app a purchase or a notification is of.
public struct BundleId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}
