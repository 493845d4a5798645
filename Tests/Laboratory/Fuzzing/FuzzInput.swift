/// Takes values off the front of an input, so that one input can be several of them. Behind the end, all are zeros.
struct FuzzInput {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Eight bytes, or one of the numbers at which arithmetic breaks.
  mutating func number() -> Int64 {
    switch byte() {
    case 0: .min
    case 1: .max
    case 2: -1
    case 3: Int64(byte())
    default: (0..<8).reduce(0) { number, _ in number << 8 | Int64(byte()) }
    }
  }

  /// As many bytes as the first one says.
  mutating func bytes() -> [UInt8] {
    let taken = rest.dropFirst().prefix(Int(rest.first ?? 0))
    rest = rest.dropFirst(taken.count + 1)
    return Array(taken)
  }

  mutating func text() -> String { String(decoding: bytes(), as: UTF8.self) }
}
