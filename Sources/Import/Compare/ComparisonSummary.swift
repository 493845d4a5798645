/// How many customers have which verdict.
public struct ComparisonSummary: Sendable, Equatable {
  /// The customers of the file.
  public private(set) var counts: [ComparedCustomer.Verdict: Int] = [:]
  /// The customers with access here of whom the file has no row.
  public private(set) var notInFile = 0

  /// Creates an empty one.
  public init() {}

  /// Counts a customer of the file.
  public mutating func count(_ verdict: ComparedCustomer.Verdict) { counts[verdict, default: 0] += 1 }

  /// Counts a customer of whom the file has no row.
  public mutating func countNotInFile() { notInFile += 1 }

  /// For people.
  public var text: String {
    let all = counts.values.reduce(0, +)
    let (there, here) = (counts[.onlyThere] ?? 0, counts[.onlyHere] ?? 0)
    return "\(all) customers in the file: \(counts[.same] ?? 0) agree, \(there) have more access there, "
      + "\(here) more here, \(counts[.different] ?? 0) something else there than here; "
      + "\(notInFile) with access here are not in the file"
  }
}
