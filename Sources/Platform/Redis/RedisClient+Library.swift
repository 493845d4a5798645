import CHiredis

extension RedisClient {
  /// The version of hiredis with which this build was made: the library does not tell its own.
  public nonisolated static var libraryVersion: String { "\(HIREDIS_MAJOR).\(HIREDIS_MINOR).\(HIREDIS_PATCH)" }
}
