/// How much a reader takes of one text.
///
/// Each value costs the loop about as much as a hundred bytes of a string, and a sender makes one of two bytes. So the
/// length of a body alone bounds nothing: a reader says what its format needs, and the scanner ends where the text has
/// more, before any value is decoded.
public struct JSONLimits: Sendable, Hashable {
  /// The most arrays and objects around a value.
  public var depth: Int
  /// The most members of one object.
  public var members: Int
  /// The most elements of one array.
  public var elements: Int
  /// The most values in the whole text. The name of a member counts as one, too.
  public var values: Int
  /// The most bytes of a member's name, as the text writes it.
  public var nameBytes: Int

  /// Creates limits.
  public init(depth: Int, members: Int, elements: Int, values: Int, nameBytes: Int) {
    (self.depth, self.members, self.elements) = (depth, members, elements)
    (self.values, self.nameBytes) = (values, nameBytes)
  }

  /// What a stranger may send: several times what any client and any payload of Apple's has.
  public static let outside = JSONLimits(depth: 16, members: 128, elements: 256, values: 4096, nameBytes: 2048)

  /// What this system has written itself, or an operator: only what would cost too much memory is refused. A text of
  /// nothing but brackets costs twenty times its own memory.
  public static let own = JSONLimits(
    depth: 128, members: .max, elements: .max, values: 250_000, nameBytes: .max)

  /// What Apple's servers answer, over TLS: pages of signed texts, in an answer whose length is limited.
  public static let answers = JSONLimits(depth: 32, members: 1000, elements: 10_000, values: 50_000, nameBytes: 2048)

  /// A limit that a text exceeds.
  public enum Excess: Hashable, Sendable, CustomStringConvertible {
    case depth(Int)
    case members(Int)
    case elements(Int)
    case values(Int)
    case nameBytes(Int)
    case numberBytes(Int)

    public var description: String {
      switch self {
      case .depth(let most): "more than \(most) levels"
      case .members(let most): "an object with more than \(most) members"
      case .elements(let most): "an array with more than \(most) elements"
      case .values(let most): "more than \(most) values"
      case .nameBytes(let most): "a member's name of more than \(most) bytes"
      case .numberBytes(let most): "a number of more than \(most) bytes"
      }
    }
  }
}
