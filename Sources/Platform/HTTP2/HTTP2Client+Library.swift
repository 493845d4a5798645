import CNGHTTP2

extension HTTP2Client {
  /// The version of nghttp2 that the process has loaded.
  public nonisolated static var libraryVersion: String { String(cString: nghttp2_version(0).pointee.version_str) }
}
