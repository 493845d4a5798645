/// The values of a metric, by the values of its labels.
///
/// Most counts have the same labels as the count before. So the search compares those first, before it hashes any text.
struct LabelledValues<Value> {
  private var entries: [(labels: [String], value: Value)] = []
  private var places: [[String]: Int] = [:]
  private var last = 0

  /// All values, in the order of their labels.
  var sorted: [(labels: [String], value: Value)] {
    entries.sorted { $0.labels.lexicographicallyPrecedes($1.labels) }
  }

  /// Changes the value that has these labels.
  mutating func update(_ labels: [String], initial: @autoclosure () -> Value, _ change: (inout Value) -> Void) {
    if last >= entries.count || entries[last].labels != labels {
      if let place = places[labels] {
        last = place
      } else {
        last = entries.count
        places[labels] = last
        entries.append((labels, initial()))
      }
    }
    change(&entries[last].value)
  }
}
