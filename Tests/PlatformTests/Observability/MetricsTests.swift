import EventLoop
import Observability
import Testing

/// The text format of Prometheus.
@LoopActor
struct MetricsTests {
  @Test func counter() {
    let metrics = Metrics()
    let plain = metrics.counter("a_total", "All of a.")
    #expect(metrics.text() == "# HELP a_total All of a.\n# TYPE a_total counter\na_total 0\n")
    plain.count()
    plain.add(2.5)
    #expect(metrics.text() == "# HELP a_total All of a.\n# TYPE a_total counter\na_total 3.5\n")
  }

  @Test func labelledCounter() {
    let metrics = Metrics()
    let counter = metrics.counter("a_total", "A.", labels: ["route", "status"])
    #expect(metrics.text() == "# HELP a_total A.\n# TYPE a_total counter\n")
    counter.count("y", "200")
    counter.count("x", "500")
    counter.count("y", "200")
    counter.count("y", "200")
    counter.add(0.5, "x", "404")
    #expect(
      metrics.text() == """
        # HELP a_total A.
        # TYPE a_total counter
        a_total{route="x",status="404"} 0.5
        a_total{route="x",status="500"} 1
        a_total{route="y",status="200"} 3

        """)
  }

  @Test func `a metric's present values are read by its name`() {
    let metrics = Metrics()
    metrics.counter("a_total", "A.", labels: ["route"]).add(2.5, "x")
    let gauge = metrics.gauge("b", "B.", labels: ["queue"])
    gauge.set(3, "two")
    gauge.set(1, "one")
    metrics.gauge("c", "C.") { 7 }
    metrics.histogram("d", "D.").observe(1)
    metrics.publisherCounter("e_total", "E.").count(1)
    #expect(
      metrics.readings(of: ["a_total", "b", "c", "d", "e_total", "none"]) == [
        MetricReading(name: "a_total", labels: ["x"], value: 2.5),
        MetricReading(name: "b", labels: ["one"], value: 1), MetricReading(name: "b", labels: ["two"], value: 3),
        MetricReading(name: "c", labels: [], value: 7),
      ])
    #expect(metrics.readings(of: []) == [])
  }

  /// Prometheus' `increase()` does not see the first event of a series that begins with 1.
  @Test func knownLabelValuesAreThereFromTheStart() {
    let metrics = Metrics()
    let counter = metrics.counter("a_total", "A.", labels: ["x", "y"], known: [["1", "2"], ["1", "1"]])
    _ = metrics.histogram("d_seconds", "D.", labels: ["x"], known: [["1"]], buckets: [1])
    counter.count("1", "2")
    #expect(
      metrics.text() == """
        # HELP a_total A.
        # TYPE a_total counter
        a_total{x="1",y="1"} 0
        a_total{x="1",y="2"} 1
        # HELP d_seconds D.
        # TYPE d_seconds histogram
        d_seconds_bucket{x="1",le="1"} 0
        d_seconds_bucket{x="1",le="+Inf"} 0
        d_seconds_sum{x="1"} 0
        d_seconds_count{x="1"} 0

        """)
  }

  @Test func gauges() {
    let metrics = Metrics()
    let gauge = metrics.gauge("up", "Up.", labels: ["connection"])
    gauge.set(1, "redis")
    gauge.set(0, "redis")
    gauge.set(-1.5, "amqp")
    var reads = 0.0
    metrics.gauge("read", "Read.") {
      reads += 1
      return reads
    }
    #expect(
      metrics.text() == """
        # HELP up Up.
        # TYPE up gauge
        up{connection="amqp"} -1.5
        up{connection="redis"} 0
        # HELP read Read.
        # TYPE read gauge
        read 1

        """)
    #expect(metrics.text().hasSuffix("\nread 2\n"))
  }

  @Test func readCounter() {
    let metrics = Metrics()
    metrics.counter("cpu_seconds_total", "CPU.") { 1e20 }
    #expect(
      metrics.text() == "# HELP cpu_seconds_total CPU.\n# TYPE cpu_seconds_total counter\ncpu_seconds_total 1e+20\n")
  }

  /// Each bucket counts all values up to its bound, including the bound.
  @Test func histogramIsCumulative() {
    let metrics = Metrics()
    let histogram = metrics.histogram("d_seconds", "D.", buckets: [0.1, 1, 10])
    for value in [0.05, 0.1, 0.5, 1, 5, 10, 11] { histogram.observe(value) }
    #expect(
      metrics.text() == """
        # HELP d_seconds D.
        # TYPE d_seconds histogram
        d_seconds_bucket{le="0.1"} 2
        d_seconds_bucket{le="1"} 4
        d_seconds_bucket{le="10"} 6
        d_seconds_bucket{le="+Inf"} 7
        d_seconds_sum 27.65
        d_seconds_count 7

        """)
  }

  @Test func labelledHistogram() {
    let metrics = Metrics()
    let histogram = metrics.histogram("d_seconds", "D.", labels: ["route"], buckets: [1])
    histogram.observe(0.5, "x")
    histogram.observe(2, "x")
    histogram.observe(2, "a")
    #expect(
      metrics.text() == """
        # HELP d_seconds D.
        # TYPE d_seconds histogram
        d_seconds_bucket{route="a",le="1"} 0
        d_seconds_bucket{route="a",le="+Inf"} 1
        d_seconds_sum{route="a"} 2
        d_seconds_count{route="a"} 1
        d_seconds_bucket{route="x",le="1"} 1
        d_seconds_bucket{route="x",le="+Inf"} 2
        d_seconds_sum{route="x"} 2.5
        d_seconds_count{route="x"} 2

        """)
  }

  @Test func emptyHistogram() {
    let metrics = Metrics()
    _ = metrics.histogram("d_seconds", "D.", buckets: [1])
    #expect(
      metrics.text().hasSuffix(
        "d_seconds_bucket{le=\"1\"} 0\nd_seconds_bucket{le=\"+Inf\"} 0\nd_seconds_sum 0\nd_seconds_count 0\n"))
  }

  @Test func labelValuesAreEscaped() {
    let metrics = Metrics()
    metrics.counter("a_total", "A.", labels: ["x"]).count("a\\b\"c\nd\\n")
    #expect(metrics.text().hasSuffix(#"a_total{x="a\\b\"c\nd\\n"} 1"# + "\n"))
  }

  @Test(arguments: [Histogram.latencyBuckets, Histogram.ageBuckets]) func bucketsRise(buckets: [Double]) {
    #expect(buckets == Set(buckets).sorted())
  }

  @Test func `a counter by publisher has the busiest and the others`() {
    let metrics = Metrics()
    let counter = metrics.publisherCounter("a_total", "A.")
    #expect(metrics.text().contains("a_total{publisher=\"other\"} 0\n"))
    for publisher: Int64 in 1...22 { counter.count(publisher) }
    counter.count(7)
    let text = metrics.text()
    #expect(text.contains("# TYPE a_total counter\na_total{publisher=\"1\"} 1\na_total{publisher=\"2\"} 1\n"))
    #expect(text.contains("a_total{publisher=\"7\"} 2\n"))
    #expect(text.hasSuffix("a_total{publisher=\"20\"} 1\na_total{publisher=\"other\"} 2\n"))
  }
}
