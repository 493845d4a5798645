import Crypto
import Formats
import Glibc

/// The trace that a request belongs to, in the form of W3C Trace Context, level 1.
public struct TraceParent: Sendable, Equatable, CustomStringConvertible {
  /// 32 hexadecimal digits.
  public let traceId: String
  /// 16 hexadecimal digits.
  public let parentId: String
  /// Two hexadecimal digits. Bit 0 says that a system records the trace.
  public let flags: String

  /// Starts a new trace.
  ///
  /// - Parameter isSampled: whether this system records it.
  public init(isSampled: Bool = false) {
    let random = Self.random(24)
    traceId = Hex.encode(random[..<16])
    parentId = Hex.encode(random[16...])
    flags = isSampled ? "01" : "00"
  }

  /// Reads the header's value; `nil` when it is malformed.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    // Version, trace, parent and flags have places that no version may change. A later version may add more after a
    // dash.
    guard bytes.count == 55 || bytes.count > 55 && bytes[55] == UInt8(ascii: "-"),
      [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
      [0..<2, 3..<35, 36..<52, 53..<55].allSatisfy({ bytes[$0].allSatisfy(\.isLowercaseHexDigit) }),
      bytes[3..<35].contains(where: { $0 != UInt8(ascii: "0") }),
      bytes[36..<52].contains(where: { $0 != UInt8(ascii: "0") })
    else { return nil }
    let version = bytes[..<2]
    guard !version.elementsEqual("ff".utf8), bytes.count == 55 || !version.elementsEqual("00".utf8) else { return nil }
    func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    (traceId, parentId, flags) = (part(3..<35), part(36..<52), part(53..<55))
  }

  /// Whether whoever comes before records the trace.
  public var isSampled: Bool { flags.last?.hexDigitValue.map { $0 & 1 == 1 } ?? false }

  /// Takes the header's value as it is. Without a value, or with a malformed one, a new trace starts.
  public init(of text: String?) { self = text.flatMap { TraceParent($0) } ?? TraceParent() }

  private init(traceId: String, parentId: String, flags: String) {
    (self.traceId, self.parentId, self.flags) = (traceId, parentId, flags)
  }

  /// Returns the same trace with a new parent, for the requests and messages of this process.
  public func child() -> TraceParent {
    TraceParent(traceId: traceId, parentId: Hex.encode(Self.random(8)), flags: flags)
  }

  public var description: String { "00-\(traceId)-\(parentId)-\(flags)" }

  /// Returns random bytes from one system call.
  ///
  /// Only zeros would mean that there is no id. They come once in 2^64 times.
  private static func random(_ bytes: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: bytes) { room, count in
      // The kernel has had its randomness since the machine started. It gives up to 256 bytes whole (getentropy(3)).
      let status = getentropy(room.baseAddress, bytes)
      precondition(status == 0, "getentropy: \(String(cString: strerror(errno)))")
      count = bytes
    }
  }
}
