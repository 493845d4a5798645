/// A piece of work of the loop: its kind, and the source file that asked for it.
///
/// It is one word, so that another thread can read at any time what the loop does.
public struct LoopWork: Sendable, Equatable, CustomStringConvertible {
  /// The kinds of work.
  enum Kind: UInt8 {
    case timer = 1
    case descriptor, jobs, endOfTurn, signal, offloaded

    var text: String {
      switch self {
      case .timer: "timer"
      case .descriptor: "descriptor"
      case .jobs: "jobs"
      case .endOfTurn: "end of turn"
      case .signal: "signal"
      case .offloaded: "end of blocking work"
      }
    }
  }

  /// The kind in the highest byte, and the address of the place's name below it. Linux gives no process an address that
  /// needs the highest byte.
  let word: UInt64

  /// Jobs have no place: the runtime does not say whose they are.
  static let jobs = LoopWork(.jobs, "")

  /// Names a piece of work. A literal is in memory as long as the process is, and ends with a zero.
  init(_ kind: Kind, _ place: StaticString) {
    let address = place.hasPointerRepresentation ? UInt64(UInt(bitPattern: place.utf8Start)) : 0
    word = UInt64(kind.rawValue) << 56 | address & Self.addresses
  }

  /// Takes ``word`` back; `nil` for a word that is no work, as before the first turn.
  init?(word: UInt64) {
    guard Kind(rawValue: UInt8(word >> 56)) != nil else { return nil }
    self.word = word
  }

  /// The kind, and the place where there is one: `timer of Redis/RedisConnection.swift`.
  public var description: String {
    let kind = Kind(rawValue: UInt8(word >> 56))?.text ?? "nothing"
    // The address is that of the literal that `init` got.
    guard let name = UnsafePointer<UInt8>(bitPattern: UInt(word & Self.addresses)), name.pointee != 0 else {
      return kind
    }
    return "\(kind) of \(String(cString: name))"
  }

  private static let addresses: UInt64 = 1 << 56 - 1
}
