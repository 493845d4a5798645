import Observability
import Testing

/// The header of W3C Trace Context.
struct TraceParentTests {
  private static let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test func read() throws {
    let trace = try #require(TraceParent(Self.good))
    #expect(trace.traceId == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(trace.parentId == "00f067aa0ba902b7")
    #expect(trace.flags == "01")
    #expect(trace.description == Self.good)
  }

  /// A later version may append parts; what we send on is ours, version 00.
  @Test func laterVersion() throws {
    let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"
    #expect(try #require(TraceParent(later)).description == Self.good)
  }

  @Test(arguments: [
    "", "00", good + "-x", good + "-", " " + good, good + " ", good.uppercased(), "ff" + good.dropFirst(2),
    "0" + good.dropFirst(2), "0g" + good.dropFirst(2),
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
    "00-4bf92f3577b34da6a3ce929d0e0e473x-00f067aa0ba902b7-01",
  ])
  func refused(text: String) {
    #expect(TraceParent(text) == nil)
  }

  @Test func child() throws {
    let trace = try #require(TraceParent(Self.good))
    let child = trace.child()
    #expect(child.traceId == trace.traceId)
    #expect(child.flags == trace.flags)
    #expect(child.parentId != trace.parentId)
    #expect(TraceParent(child.description) == child)
  }

  @Test func new() {
    let traces = (1...100).map { _ in TraceParent() }
    for trace in traces {
      #expect(TraceParent(trace.description) == trace)
      #expect(trace.flags == "00")
    }
    #expect(Set(traces.map(\.traceId)).count == traces.count)
  }
}

/// Times in RFC 3339.
struct TimeFormatTests {
  @Test(arguments: [
    (Int64(0), "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (999, "1970-01-01T00:00:00.999Z"),
    (1000, "1970-01-01T00:00:01.000Z"), (1_700_000_000_050, "2023-11-14T22:13:20.050Z"),
    (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
  ])
  func formatted(milliseconds: Int64, text: String) {
    #expect(rfc3339(milliseconds: milliseconds) == text)
  }
}
