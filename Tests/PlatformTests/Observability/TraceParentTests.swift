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

  /// A later version may append parts; this code always sends version 00.
  @Test func laterVersion() throws {
    let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"
    #expect(try #require(TraceParent(later)).description == Self.good)
  }

  @Test(arguments: [
    "", "00", good + "x", "cc" + good.dropFirst(2) + "x",
    good + "-x", good + "-", " " + good, good + " ", good.uppercased(), "ff" + good.dropFirst(2),
    "0" + good.dropFirst(2), "0g" + good.dropFirst(2),
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
    "00-4bf92f3577b34da6a3ce929d0e0e473x-00f067aa0ba902b7-01",
    "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
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

  @Test func `a trace is taken as it is, or a new one starts`() throws {
    #expect(TraceParent(of: Self.good).description == Self.good)
    let others = ["", "00-x", nil].map { TraceParent(of: $0).traceId }
    #expect(Set(others).count == 3)
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
