/// A call that passed all checks, with everything that its answer depends on.
struct StoreQuestion: Equatable, Sendable {
  var endpoint: StoreEndpoint
  var transactionId: String
  var environment: StoreEnvironment
  /// The app of the bearer token: every transaction belongs to the app that asks.
  var app: Simulator.App
  /// The subscription statuses that the client asks for; empty for all.
  var statuses: Set<Int> = []
  /// The number of earlier calls for this transaction, in this environment and for this app.
  var earlierCalls = 0
  /// UNIX milliseconds.
  var now: Int64

  var scenario: Scenario { Scenario(transactionId: transactionId) }

  /// The environment that payloads name.
  var payloadEnvironment: StoreEnvironment { scenario == .wrongEnvironment ? environment.other : environment }

  /// Returns the start of a later UTC day: so many days after the current one.
  func day(_ days: Int64) -> Int64 { now - now % millisecondsPerDay + days * millisecondsPerDay }
}

let millisecondsPerDay: Int64 = 86_400_000
