import AMQP
import CBuild
import Crypto
import EventLoop
import HTTP2
import HTTPClient
import HTTPServer
import Postgres
import Redis

/// What `countersign --version` tells: the version, the commit, and the C libraries that the process has loaded.
enum BuildVersion {
  /// The version of this build, as in CHANGELOG.md.
  static let number = "0.1.0"

  /// The commit; empty if the build was not told.
  static var commit: String { String(cString: countersign_commit()) }

  /// The version, with the commit behind it if the build was told.
  static var short: String { commit.isEmpty ? number : "\(number) (\(commit.prefix(12)))" }

  /// The C libraries with their versions, in the order of their names.
  static var libraries: [(name: String, version: String)] {
    [
      ("hiredis", RedisClient.libraryVersion), ("jemalloc", EventLoop.allocatorVersion ?? "none"),
      ("libcurl", HTTPClient.libraryVersion), ("libmicrohttpd", HTTPServer.libraryVersion),
      ("libpq", PostgresClient.libraryVersion), ("librabbitmq", AMQPConnection.libraryVersion),
      ("libuv", EventLoop.libraryVersion), ("nghttp2", HTTP2Client.libraryVersion), ("openssl", openSSLVersion),
    ]
  }

  /// All of it: the first line alone is what scripts read.
  static var text: String {
    let lines = [("commit", commit.isEmpty ? "unknown" : commit)] + libraries.map { ($0.name, $0.version) }
    let width = lines.map(\.0.count).max() ?? 0
    return "countersign \(number)\n"
      + lines.map { "  \($0.0)\(String(repeating: " ", count: width - $0.0.count + 2))\($0.1)" }.joined(separator: "\n")
  }
}
