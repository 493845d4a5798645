import CCurl

extension HTTPClient {
  /// The version of libcurl that the process has loaded.
  public nonisolated static var libraryVersion: String {
    String(cString: curl_version_info(CURLVERSION_FIRST).pointee.version)
  }
}
