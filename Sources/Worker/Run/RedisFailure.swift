import Coordination
import Domain
import Redis

/// Why Redis did not do its part of a run.
enum RedisFailure: Error {
  /// The worker could not reach Redis, or Redis failed.
  case unavailable
  /// A newer worker wrote a record that the run needs. That worker, or another one like it, will run the job.
  case newerRecord

  /// Sorts an error of Redis.
  init(_ error: any Error) {
    self = (error as? RedisError)?.isNewerRecord == true ? .newerRecord : .unavailable
  }

  /// Why the worker tries the job again.
  var cause: RetryCause { self == .newerRecord ? .newerFormat : .storeUnavailable }
  /// How long the job waits before the next try.
  var wait: Duration { .seconds(self == .newerRecord ? 5 : 1) }
}
