/// The id of a webhook endpoint, unique within its publisher: it names the endpoint in the API, in logs and in delayed
/// deliveries.
public struct EndpointId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// No endpoint: what stands for the endpoint of an event of which nobody knows the endpoints yet.
  public static let unknown = EndpointId("")

  /// Whether a text can be an endpoint's id, of the API or of a file. A caller need not look for any other text.
  public static func isValid(_ text: String) -> Bool { (1...256).contains(text.unicodeScalars.count) }
}
