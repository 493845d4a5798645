import COpenSSL

/// Goes through the values of a DER text, one after the other.
///
/// OpenSSL finds the start and the end of each value (`ASN1_get_object`). It has no function that walks over a type
/// which is not compiled into it, so this type does that.
public struct ASN1Reader {
  /// A text that is not DER.
  public struct Malformed: Error, Sendable {
    /// Creates the error.
    public init() {}
  }

  /// The universal tags that readers here need (ITU-T X.680, table 1).
  public enum Tag {
    public static let integer: Int32 = 2
    public static let octetString: Int32 = 4
    public static let utf8String: Int32 = 12
    public static let sequence: Int32 = 16
    public static let set: Int32 = 17
    public static let ia5String: Int32 = 22
  }

  /// One value: its universal tag and its content.
  public struct Value: Sendable {
    public let tag: Int32
    /// Whether the content consists of values.
    public let isConstructed: Bool
    public let content: ArraySlice<UInt8>

    /// The number of an `INTEGER` of up to 64 bits; `nil` for other values.
    public var integer: Int64? {
      guard tag == Tag.integer, (1...8).contains(content.count) else { return nil }
      let start: Int64 = content.first ?? 0 >= 0x80 ? -1 : 0
      return content.reduce(start) { $0 << 8 | Int64($1) }
    }

    /// The text of a `UTF8String` or an `IA5String`; `nil` for other values.
    public var text: String? {
      switch tag {
      case Tag.utf8String: String(validating: content, as: UTF8.self)
      case Tag.ia5String: content.allSatisfy { $0 < 0x80 } ? String(decoding: content, as: UTF8.self) : nil
      default: nil
      }
    }
  }

  private var rest: ArraySlice<UInt8>

  /// Reads from the start of a text.
  public init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  /// Whether the reader has read every value.
  public var isAtEnd: Bool { rest.isEmpty }

  /// Returns the next value, or `nil` at the end.
  public mutating func next() throws(Malformed) -> Value? {
    guard !rest.isEmpty else { return nil }
    var (length, tag, classBits): (Int, Int32, Int32) = (0, 0, 0)
    let (result, headLength) = rest.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      let result = ASN1_get_object(&position, &length, &tag, &classBits, buffer.count)
      return (result, position.map { $0 - (buffer.baseAddress ?? $0) } ?? 0)
    }
    // 0x80 means no value, or a value that goes beyond the end. 0x01 means an indefinite length, which DER does not
    // have.
    guard result & 0x81 == 0, classBits == V_ASN1_UNIVERSAL, length >= 0, headLength + length <= rest.count else {
      ERR_clear_error()
      throw Malformed()
    }
    let content = rest.dropFirst(headLength).prefix(length)
    rest = rest.dropFirst(headLength + length)
    return Value(tag: tag, isConstructed: result & V_ASN1_CONSTRUCTED != 0, content: content)
  }

  /// Returns the value of a text that has exactly one.
  public static func value(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> Value {
    var reader = ASN1Reader(bytes)
    guard let value = try reader.next(), reader.isAtEnd else { throw Malformed() }
    return value
  }
}
