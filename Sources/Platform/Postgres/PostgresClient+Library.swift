import CPQ

extension PostgresClient {
  /// The version of libpq that the process has loaded.
  public nonisolated static var libraryVersion: String { LibraryVersion.text(PQlibVersion()) }
}
