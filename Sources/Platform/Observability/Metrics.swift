public import EventLoop

/// The metrics of a process, in the text format of Prometheus.
///
/// Names have base units and the endings of Prometheus' naming rules. An id is never a label, but for the publishers of
/// a ``PublisherCounter``, which are few.
@LoopActor
public final class Metrics {
  private var families: [any MetricFamily] = []

  /// Creates an empty set.
  public init() {}

  /// Adds a counter. Its name must end in `_total`.
  ///
  /// - Parameter known: the label values that can come. The text has them from the start, with 0: Prometheus'
  ///   `increase()` does not see the first event of a series that begins with 1.
  public func counter(
    _ name: String, _ help: String, labels: [String] = [], known: [[String]] = []
  ) -> Counter {
    add(Counter(name: name, help: help, labels: labels, known: known))
  }

  /// Adds a counter by publisher: the busiest have a series of their own, and `other` has the rest. Its name must end
  /// in `_total`.
  public func publisherCounter(_ name: String, _ help: String) -> PublisherCounter {
    add(PublisherCounter(name: name, help: help))
  }

  /// Adds a gauge.
  public func gauge(_ name: String, _ help: String, labels: [String] = []) -> Gauge {
    add(Gauge(name: name, help: help, labels: labels))
  }

  /// Adds a gauge. The metrics read it at each request for the text.
  public func gauge(_ name: String, _ help: String, read: @escaping @LoopActor () -> Double) {
    _ = add(ReadMetric(name: name, help: help, type: "gauge", read: read))
  }

  /// Adds a counter that other code keeps. The metrics read it at each request for the text. Its name must end in
  /// `_total`.
  public func counter(_ name: String, _ help: String, read: @escaping @LoopActor () -> Double) {
    _ = add(ReadMetric(name: name, help: help, type: "counter", read: read))
  }

  /// Adds a histogram of seconds.
  ///
  /// - Parameter known: the label values that the text has from the start; see ``counter(_:_:labels:known:)``.
  public func histogram(
    _ name: String, _ help: String, labels: [String] = [], known: [[String]] = [],
    buckets: [Double] = Histogram.latencyBuckets
  ) -> Histogram {
    add(Histogram(name: name, help: help, labels: labels, known: known, buckets: buckets))
  }

  /// Returns all metrics as text, version 0.0.4 of the format.
  public func text() -> String {
    var text = ""
    for family in families {
      text += "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.type)\n"
      family.write(to: &text)
    }
    return text
  }

  /// The present values of some metrics, by their names. Histograms and counters by publisher have none.
  public func readings(of names: Set<String>) -> [MetricReading] {
    families.filter { names.contains($0.name) }.flatMap { family in
      family.readings.map { MetricReading(name: family.name, labels: $0.labels, value: $0.value) }
    }
  }

  private func add<Family: MetricFamily>(_ family: Family) -> Family {
    families.append(family)
    return family
  }
}

@LoopActor
protocol MetricFamily {
  var name: String { get }
  var help: String { get }
  var type: String { get }
  /// The present values, by the values of the labels; empty if it has more than one number for each.
  var readings: [(labels: [String], value: Double)] { get }
  func write(to text: inout String)
}

extension MetricFamily {
  var readings: [(labels: [String], value: Double)] { [] }
}

/// A metric's value.
public struct MetricReading: Sendable, Equatable {
  public let name: String
  /// The values of the labels, in the order in which the metric declares them.
  public let labels: [String]
  public let value: Double

  public init(name: String, labels: [String], value: Double) {
    (self.name, self.labels, self.value) = (name, labels, value)
  }
}

/// A number that only grows.
@LoopActor
public final class Counter: MetricFamily {
  let name: String
  let help: String
  let type = "counter"
  private let labels: [String]
  private var values = LabelledValues<Double>()

  init(name: String, help: String, labels: [String], known: [[String]]) {
    (self.name, self.help, self.labels) = (name, help, labels)
    for each in labels.isEmpty ? [[]] : known { values.update(each, initial: 0) { _ in } }
  }

  /// Adds to the number that has these label values, in the order of the labels.
  public func add(_ amount: Double = 1, _ labelValues: String...) {
    values.update(labelValues, initial: 0) { $0 += amount }
  }

  /// Adds one to the number that has these label values.
  public func count(_ labelValues: String...) { values.update(labelValues, initial: 0) { $0 += 1 } }

  var readings: [(labels: [String], value: Double)] { values.sorted }

  func write(to text: inout String) { writeSamples(values, name, labels, to: &text) }
}

/// A number that only grows, for each of the busiest publishers and for all others together.
///
/// A publisher that becomes busy gets a series in place of one that has become quiet. So there are 21 series, however
/// many publishers there are. Their sum says nothing.
@LoopActor
public final class PublisherCounter: MetricFamily {
  let name: String
  let help: String
  let type = "counter"
  private var counts = BusiestCounts()

  init(name: String, help: String) { (self.name, self.help) = (name, help) }

  /// Adds one to the publisher's number, or to that of the others.
  public func count(_ publisher: Int64) { counts.count(publisher) }

  func write(to text: inout String) {
    for (publisher, count) in counts.counts.sorted(by: { $0.key < $1.key }) {
      text += "\(name){publisher=\"\(publisher)\"} \(count)\n"
    }
    text += "\(name){publisher=\"other\"} \(counts.others)\n"
  }
}

/// A number that goes up and down.
@LoopActor
public final class Gauge: MetricFamily {
  let name: String
  let help: String
  let type = "gauge"
  private let labels: [String]
  private var values = LabelledValues<Double>()

  init(name: String, help: String, labels: [String]) {
    (self.name, self.help, self.labels) = (name, help, labels)
    if labels.isEmpty { values.update([], initial: 0) { _ in } }
  }

  /// Sets the number that has these label values.
  public func set(_ value: Double, _ labelValues: String...) {
    values.update(labelValues, initial: value) { $0 = value }
  }

  var readings: [(labels: [String], value: Double)] { values.sorted }

  func write(to text: inout String) { writeSamples(values, name, labels, to: &text) }
}

@LoopActor
final class ReadMetric: MetricFamily {
  let name: String
  let help: String
  let type: String
  private let read: @LoopActor () -> Double

  init(name: String, help: String, type: String, read: @escaping @LoopActor () -> Double) {
    (self.name, self.help, self.type, self.read) = (name, help, type, read)
  }

  var readings: [(labels: [String], value: Double)] { [([], read())] }

  func write(to text: inout String) { text += "\(name) \(plain(read()))\n" }
}

/// The number of values in each bucket, their sum and their count.
@LoopActor
public final class Histogram: MetricFamily {
  /// Buckets from a millisecond to a minute.
  public nonisolated static let latencyBuckets = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]
  /// Buckets from a tenth of a second to a day.
  public nonisolated static let ageBuckets = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 43200, 86400]

  let name: String
  let help: String
  let type = "histogram"
  private let labels: [String]
  private let buckets: [Double]
  private var series = LabelledValues<Series>()

  private struct Series {
    var counts: [Int]
    var sum = 0.0

    init(buckets: Int) { counts = Array(repeating: 0, count: buckets + 1) }

    mutating func add(_ value: Double, to bucket: Int) {
      counts[bucket] += 1
      sum += value
    }
  }

  init(name: String, help: String, labels: [String], known: [[String]], buckets: [Double]) {
    (self.name, self.help, self.labels, self.buckets) = (name, help, labels, buckets)
    for each in labels.isEmpty ? [[]] : known { series.update(each, initial: Series(buckets: buckets.count)) { _ in } }
  }

  /// Adds a value to the series that has these label values.
  public func observe(_ value: Double, _ labelValues: String...) {
    // This is a loop, because a closure of the loop actor asks at each call whether it runs there.
    var bucket = 0
    while bucket < buckets.count, !(value <= buckets[bucket]) { bucket += 1 }
    series.update(labelValues, initial: Series(buckets: buckets.count)) { $0.add(value, to: bucket) }
  }

  func write(to text: inout String) {
    for (values, entry) in series.sorted {
      var total = 0
      for (index, count) in entry.counts.enumerated() {
        total += count
        let bound = index < buckets.count ? plain(buckets[index]) : "+Inf"
        text += "\(name)_bucket\(labelText(labels + ["le"], values + [bound])) \(total)\n"
      }
      text += "\(name)_sum\(labelText(labels, values)) \(plain(entry.sum))\n"
      text += "\(name)_count\(labelText(labels, values)) \(total)\n"
    }
  }
}

private func writeSamples(_ values: LabelledValues<Double>, _ name: String, _ labels: [String], to text: inout String) {
  for (labelValues, value) in values.sorted {
    text += "\(name)\(labelText(labels, labelValues)) \(plain(value))\n"
  }
}

private func labelText(_ labels: [String], _ values: [String]) -> String {
  guard !labels.isEmpty else { return "" }
  let pairs = zip(labels, values).map { label, value in
    return "\(label)=\"\(escaped(value))\""
  }
  return "{\(pairs.joined(separator: ","))}"
}

private func escaped(_ value: String) -> String {
  guard value.utf8.contains(where: { "\\\"\n".utf8.contains($0) }) else { return value }
  var text = ""
  for scalar in value.unicodeScalars {
    switch scalar {
    case "\\": text += "\\\\"
    case "\"": text += "\\\""
    case "\n": text += "\\n"
    default: text.unicodeScalars.append(scalar)
    }
  }
  return text
}

private func plain(_ number: Double) -> String {
  number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
}
