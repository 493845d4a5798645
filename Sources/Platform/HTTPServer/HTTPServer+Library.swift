import CMicroHTTPD

extension HTTPServer {
  /// The version of libmicrohttpd that the process has loaded.
  public nonisolated static var libraryVersion: String { String(cString: MHD_get_version()) }
}
