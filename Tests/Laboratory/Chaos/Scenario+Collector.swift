import EventLoop
import Fleets
import Glibc

extension Scenario {
  /// A collector of traces that takes connections and answers nothing. No job waits for it.
  static let collector = Scenario(
    name: "collector", what: "a collector of traces that hangs",
    environment: [
      "COUNTERSIGN_TRACES_URL": "http://127.0.0.1:\(silentPort)/v1/traces", "COUNTERSIGN_TRACES_RATIO": "1",
    ],
    expectations: Verdict.Expectations(isGraceful: true, isUndisturbed: true),
    inject: { chaos in
      chaos.injected("the collector hangs")
      try await chaos.loadEnds()
    })

  /// A port of this process: the kernel takes connections for it, and nobody ever reads them.
  private static let silentPort: UInt16 = {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) { pointer -> UInt16? in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
        guard bind(descriptor, place, size) == 0, listen(descriptor, 128) == 0,
          getsockname(descriptor, place, &size) == 0
        else { return nil }
        return pointer.pointee.sin_port.bigEndian
      }
    }
    guard let port else { preconditionFailure("no port for a silent collector: \(String(cString: strerror(errno)))") }
    return port
  }()
}
