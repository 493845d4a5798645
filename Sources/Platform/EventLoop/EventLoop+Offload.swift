import CUV
import Glibc

extension EventLoop {
  /// Runs blocking or long work on a thread of libuv's pool and returns its result to the loop.
  ///
  /// It is for work that has no non-blocking form, such as name resolution and reading the files for TLS, and for what
  /// a stranger can make long, such as reading a body. The pool has four threads, so the work needs a timeout or a line
  /// of its own.
  @LoopActor
  public static func offload<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    let job = OffloadedJob(work)
    return try await withCheckedThrowingContinuation { continuation in
      job.start(continuation)
    }
  }

  /// Resolves a host name to numeric addresses, IPv4 before IPv6, without blocking the loop.
  ///
  /// - Throws: ``ResolutionError`` with the resolver's reason.
  @LoopActor
  public static func resolve(_ host: String) async throws -> [String] {
    var numeric = in6_addr()
    if inet_pton(AF_INET, host, &numeric) == 1 || inet_pton(AF_INET6, host, &numeric) == 1 { return [host] }
    return try await offload { try addresses(of: host) }
  }
}

/// A host name that could not be resolved.
public struct ResolutionError: Error, CustomStringConvertible {
  /// The name.
  public let host: String
  /// The resolver's text.
  public let cause: String

  public var description: String { "resolve \(host): \(cause)" }
}

private func addresses(of host: String) throws -> [String] {
  var hints = addrinfo()
  hints.ai_family = AF_UNSPEC
  hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
  var first: UnsafeMutablePointer<addrinfo>?
  let failure = getaddrinfo(host, nil, &hints, &first)
  guard failure == 0 else { throw ResolutionError(host: host, cause: String(cString: gai_strerror(failure))) }
  defer { freeaddrinfo(first) }

  var found: [(family: Int32, address: String)] = []
  var next = first
  while let entry = next {
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let status = getnameinfo(
      entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
    if status == 0 {
      let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      found.append((entry.pointee.ai_family, address))
    }
    next = entry.pointee.ai_next
  }
  return found.filter { $0.family == AF_INET }.map(\.address) + found.filter { $0.family != AF_INET }.map(\.address)
}

/// One piece of blocking work, from the loop to a pool thread and back.
private final class OffloadedJob<Value: Sendable>: AnyOffloadedJob, @unchecked Sendable {
  // Sendable is right: the pool thread writes `outcome` before libuv hands the request back to the loop. The loop is
  // the only reader, and libuv's queue orders the two. Only the loop touches `continuation`.
  private let work: @Sendable () throws -> Value
  private var outcome: Result<Value, any Error>?
  private var continuation: CheckedContinuation<Value, any Error>?

  init(_ work: @escaping @Sendable () throws -> Value) { self.work = work }

  @LoopActor
  func start(_ continuation: CheckedContinuation<Value, any Error>) {
    self.continuation = continuation
    let request = UnsafeMutablePointer<uv_work_t>.allocate(capacity: 1)
    request.pointee.data = Unmanaged<AnyOffloadedJob>.passRetained(self).toOpaque()
    check(uv_queue_work(EventLoop.process.uv, request, onWork, onWorkDone), "uv_queue_work")
  }

  override func perform() { outcome = Result { try work() } }

  override func finish() {
    continuation?.resume(with: outcome!)
    continuation = nil
  }
}

private class AnyOffloadedJob {
  func perform() {}
  func finish() {}
}

private func onWork(_ request: UnsafeMutablePointer<uv_work_t>?) {
  Unmanaged<AnyOffloadedJob>.fromOpaque(request!.pointee.data).takeUnretainedValue().perform()
}

private func onWorkDone(_ request: UnsafeMutablePointer<uv_work_t>?, _ status: Int32) {
  EventLoop.process.begins(LoopWork(.offloaded, #fileID))
  Unmanaged<AnyOffloadedJob>.fromOpaque(request!.pointee.data).takeRetainedValue().finish()
  request!.deallocate()
}
