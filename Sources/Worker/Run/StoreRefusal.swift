import Domain
import Redis
import Store

/// Why Redis did not do what a run asked for.
enum StoreRefusal: Error {
  /// It could not be reached, or has failed.
  case unavailable
  /// A newer worker wrote a record that the run needs. That worker, or another one like it, will run the job.
  case newerRecord

  /// Takes what a store threw.
  init(_ error: any Error) {
    self = (error as? RedisError)?.isNewerRecord == true ? .newerRecord : .unavailable
  }

  /// Why the job is tried again.
  var cause: RetryCause { self == .newerRecord ? .newerFormat : .storeUnavailable }
  /// When it is tried again.
  var wait: Duration { .seconds(self == .newerRecord ? 5 : 1) }
}
