/// The names of subscribers. Each has an exchange, a pace, and events that it still misses.
public enum EventSubscriber {
  /// The subscriber behind the exchange that every service may bind its queues to. These services share their pace.
  public static let shared = "shared"

  /// Whether a publisher of events may have a subscriber of this name: 1 to 64 of `a` to `z`, `0` to `9` and `-`.
  public static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || byte == UInt8(ascii: "-")
      }
      && !text.utf8.elementsEqual(shared.utf8)
  }
}
