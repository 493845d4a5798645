import AMQP
import Coordination
import Domain
import EventLoop
import Messaging

/// Registers jobs as a gateway does, without HTTP: claim, confirmed publish, prolong. This is the gateway's floor. It
/// also fills the queue for the other benchmarks.
@LoopActor
struct FillBenchmark {
  let backend: Backend
  /// The number of the registration of each subscription, from 1.
  var round = 1
  /// How many customers share the jobs; 0 if each job has its own.
  var customers = 0
  /// When a sweep may take the job for lost; usually after the benchmark.
  var sweepAfter = Backend.sweepAfter

  /// - Parameter perSecond: 0 registers as fast as possible. At a rate, a job's time counts from the moment when it
  ///   was due.
  func run(count: Int, from first: Int, concurrency: Int, perSecond: Double) async throws -> [String: Double] {
    try await backend.open()
    let start = Usage()
    var next = first
    var times: [Double] = []
    times.reserveCapacity(count)
    var failure: (any Error)?
    let writers = (0..<concurrency).map { _ in
      Task { @LoopActor in
        do {
          while next < first + count, failure == nil {
            let number = next
            next += 1
            let due = try await start.due(number - first, perSecond: perSecond)
            try await register(Backend.job(number, round: round, customers: customers))
            times.append((ContinuousClock.now - due).inSeconds * 1000)
          }
        } catch {
          failure = error
        }
      }
    }
    for writer in writers { await writer.value }
    if let failure { throw failure }
    let result = start.until(Usage(), jobs: count).merging(Percentiles(times).members) { $1 }
    await backend.close()
    return result
  }

  private func register(_ job: Job) async throws {
    let claim = try await backend.claims.take(job, checksCustomer: false, sweepAfter: sweepAfter)
    guard claim == .claimed else { throw Unexpected(description: "\(job.transactionId): \(claim)") }
    try await backend.publisher.publish(
      JobMessage.message(job, attempt: 1, queue: backend.topology.jobs), timeout: .seconds(60))
    guard try await backend.claims.prolong(job) else { throw Unexpected(description: "a claim was lost") }
  }
}
