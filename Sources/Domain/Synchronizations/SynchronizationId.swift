/// The name of a synchronization among those of its publisher: 1 to 256 visible ASCII characters.
///
/// It is the client's `Correlation-Id` if the client sent one, and otherwise the gateway's own.
public struct SynchronizationId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// Whether a text can name a synchronization.
  public static func isValid(_ text: String) -> Bool {
    (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
