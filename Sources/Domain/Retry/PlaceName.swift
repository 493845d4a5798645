/// Names an app in one environment of Apple's: `bundleId|environment`.
public struct PlaceName: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}
