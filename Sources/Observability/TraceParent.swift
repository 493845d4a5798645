import Crypto
import Glibc

/// The trace that a request belongs to, in the form of W3C Trace Context, level 1.
public struct TraceParent: Sendable, Equatable, CustomStringConvertible {
  /// 32 hexadecimal digits.
  public let traceId: String
  /// 16 hexadecimal digits.
  public let parentId: String
  /// Two hexadecimal digits; bit 0 says that somebody records the trace.
  public let flags: String

  /// Starts a new trace.
  public init() {
    let random = Self.random(24)
    traceId = Hex.encode(random[..<16])
    parentId = Hex.encode(random[16...])
    flags = "00"
  }

  /// Reads the header's value; `nil` when it is malformed, and then a new trace must be started.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    let isHex: (String, Int) -> Bool = { text, count in
      text.utf8.count == count && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }
    guard parts.count >= 4, isHex(parts[0], 2), parts[0] != "ff", parts[0] != "00" || parts.count == 4,
      isHex(parts[1], 32), isHex(parts[2], 16), isHex(parts[3], 2),
      parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
    else { return nil }
    (traceId, parentId, flags) = (parts[1], parts[2], parts[3])
  }

  private init(traceId: String, parentId: String, flags: String) {
    (self.traceId, self.parentId, self.flags) = (traceId, parentId, flags)
  }

  /// Returns the same trace with a new parent, for what this process sends on.
  public func child() -> TraceParent {
    TraceParent(traceId: traceId, parentId: Hex.encode(Self.random(8)), flags: flags)
  }

  public var description: String { "00-\(traceId)-\(parentId)-\(flags)" }

  /// Random bytes in one system call; zeros throughout would mean that there is no id, and come once in 2^64
  /// times.
  private static func random(_ bytes: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: bytes) { room, count in
      // The kernel has had its randomness since the machine started, and gives up to 256 bytes whole (getentropy(3)).
      let status = getentropy(room.baseAddress, bytes)
      precondition(status == 0, "getentropy: \(String(cString: strerror(errno)))")
      count = bytes
    }
  }
}
