/// Divides a long list into parts, one for each look, so that no look takes the loop for long.
///
///     var window = LookWindow()
///     let (part, isLast) = window.next(of: publishers)
///
/// After the last part it begins with the first one. The list may change meanwhile.
public struct LookWindow: Sendable {
  private var start = 0
  private let size: Int

  /// How long the list of one look is: a few milliseconds of work.
  public static let usualSize = 500

  /// Creates a window at the beginning of a list.
  public init(size: Int = usualSize) { self.size = max(1, size) }

  /// Returns the next part, and whether the list ends with it.
  public mutating func next<Element>(of all: [Element]) -> (part: ArraySlice<Element>, isLast: Bool) {
    let begin = start < all.count ? start : 0
    let end = min(all.count, begin + size)
    start = end
    return (all[begin..<end], end == all.count)
  }
}
