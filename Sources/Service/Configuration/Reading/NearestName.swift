/// Finds the name that somebody meant who wrote another one.
///
/// `chek-config` is one letter from `check-config`.
public enum NearestName {
  /// Longer words are no names. The cost of a comparison grows with the product of both lengths.
  private static let longest = 80

  /// Returns the name that differs from a word in the fewest letters; `nil` if none is near.
  ///
  /// A name is near if a third of its letters differ at most. Capital letters count as small ones. Of two that are
  /// equally near, the first counts.
  public static func of(_ word: String, among names: some Sequence<String>) -> String? {
    guard let word = letters(word) else { return nil }
    var nearest: (name: String, distance: Int)?
    for name in names {
      guard let letters = letters(name) else { continue }
      let distance = distance(word, letters)
      guard distance * 3 <= max(letters.count, 3), distance < nearest?.distance ?? .max else { continue }
      nearest = (name, distance)
    }
    return nearest?.name
  }

  /// The end of a sentence about a word that nobody knows: `; did you mean NAME?`, or nothing.
  ///
  /// The word itself is never the answer: somebody who wrote it did not mistype it.
  public static func question(_ word: String, among names: some Sequence<String>) -> String {
    of(word, among: names).flatMap { $0 == word ? nil : "; did you mean \($0)?" } ?? ""
  }

  /// The bytes of a name, without capital letters; `nil` if no name has so many.
  private static func letters(_ name: String) -> [UInt8]? {
    guard (1...longest).contains(name.utf8.count) else { return nil }
    return name.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
  }

  /// How many letters must be added, dropped, replaced or exchanged with their neighbour (the restricted
  /// Damerau-Levenshtein distance).
  private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var before: [Int] = []
    var last = Array(0...other.count)
    for row in one.indices {
      var present = [row + 1]
      for column in other.indices {
        let isSame = one[row] == other[column]
        var least = min(last[column] + (isSame ? 0 : 1), last[column + 1] + 1, present[column] + 1)
        if row > 0, column > 0, one[row] == other[column - 1], one[row - 1] == other[column] {
          least = min(least, before[column - 1] + 1)
        }
        present.append(least)
      }
      (before, last) = (last, present)
    }
    return last[other.count]
  }
}
