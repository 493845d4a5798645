/// A call that passed all checks, with all that its answer depends on.
struct StoreQuestion: Equatable, Sendable {
  var endpoint: StoreEndpoint
  var transactionId: String
  var environment: StoreEnvironment
  /// The app of the bearer token: every transaction belongs to whichever app asks.
  var app: Simulator.App
  /// The subscription statuses that are asked for; empty for all.
  var statuses: Set<Int> = []
  /// How many calls for this transaction came before, in this environment and for this app.
  var earlierCalls = 0
  /// UNIX milliseconds.
  var now: Int64

  var scenario: Scenario { Scenario(transactionId: transactionId) }

  /// The environment that payloads name.
  var payloadEnvironment: StoreEnvironment { scenario == .wrongEnvironment ? environment.other : environment }

  /// Returns the start of the current UTC day, so many days later.
  func day(_ days: Int64) -> Int64 { now - now % millisecondsPerDay + days * millisecondsPerDay }
}

private let millisecondsPerDay: Int64 = 86_400_000
