import CUV

#if JEMALLOC
  import CJemalloc
#endif

extension EventLoop {
  /// The version of libuv that the process has loaded.
  public static var libraryVersion: String { String(cString: uv_version_string()) }

  /// The version of jemalloc that the process has loaded; `nil` in a build without it.
  public static var allocatorVersion: String? {
    #if JEMALLOC
      // The text ends with the commit, behind a hyphen.
      return countersign_allocator_version().map { String(String(cString: $0).prefix { $0 != "-" }) }
    #else
      return nil
    #endif
  }
}
