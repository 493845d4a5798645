/// The calls so far: counts since the start, and the last thousand calls. Tests of the fleet read it.
struct CallLog {
  /// One call of the App Store Server API, as the simulator decided it on arrival.
  struct Call: Encodable, Equatable, Sendable {
    /// UNIX milliseconds.
    var time: Int64
    var environment: String
    var endpoint: String
    var transactionId: String
    /// The status code; 0 when the connection was reset instead.
    var status: Int
    /// Why the bearer token was refused, if it was.
    var refusal: String?
  }

  /// The body of `GET /simulator/calls`.
  struct Report: Encodable, Equatable, Sendable {
    struct Count: Encodable, Equatable, Sendable {
      var environment: String
      var endpoint: String
      var status: Int
      var count: Int
    }

    var counts: [Count]
    /// Oldest first.
    var calls: [Call]
  }

  private struct Kind: Hashable {
    var environment: String
    var endpoint: String
    var status: Int
  }

  private let capacity = 1000
  private var counts: [Kind: Int] = [:]
  private var calls: [Call] = []
  /// The index of the oldest call once the ring is full.
  private var start = 0

  mutating func record(_ call: Call) {
    counts[Kind(environment: call.environment, endpoint: call.endpoint, status: call.status), default: 0] += 1
    if calls.count < capacity {
      calls.append(call)
    } else {
      calls[start] = call
      start = (start + 1) % capacity
    }
  }

  var report: Report {
    let sorted = counts.sorted {
      ($0.key.environment, $0.key.endpoint, $0.key.status) < ($1.key.environment, $1.key.endpoint, $1.key.status)
    }
    return Report(
      counts: sorted.map {
        Report.Count(
          environment: $0.key.environment, endpoint: $0.key.endpoint, status: $0.key.status, count: $0.value)
      },
      calls: Array(calls[start...] + calls[..<start]))
  }
}
