public import EventLoop
import Glibc

/// A TCP proxy that can break its connections: it plays the network between two parts of a fleet.
@LoopActor
public final class FaultProxy {
  /// The state of the network.
  public enum Mode: Hashable, Sendable {
    /// Everything goes through.
    case open
    /// Nothing goes through, and neither side learns of it.
    case stalled
    /// So many bytes a second go through, in each direction of each connection.
    case slow(bytesPerSecond: Int)
    /// Everything that the server answers comes so much later.
    case late(Duration)
    /// The proxy resets all connections, and new ones too.
    case cut
  }

  /// How often a slow connection gets its share.
  static let tick = Duration.milliseconds(20)

  /// The port to connect to.
  public var port: Int { listener.port }
  /// The present state of the network.
  public var mode = Mode.open {
    didSet {
      if mode == .cut { cut() } else { for link in links.values { link.modeChanged() } }
    }
  }

  /// Whether the proxy accepts new connections and then ignores them, like a server that never begins a handshake.
  public var ignoresNew = false

  private let target: Int
  private var listener: Listener!
  private var ignored: [Int32] = []
  private var links: [ObjectIdentifier: ProxyLink] = [:]

  /// Listens on a free port of 127.0.0.1 and passes connections on to another one.
  public init(to target: Int) throws {
    self.target = target
    listener = try Listener(host: "127.0.0.1", port: 0) { [unowned self] descriptor in take(descriptor) }
  }

  /// Resets every connection; new ones go through, unless ``mode`` says otherwise.
  public func cut() {
    for link in links.values { link.reset() }
    for descriptor in ignored { resetSocket(descriptor) }
    ignored.removeAll()
  }

  /// Stops listening and ends every connection.
  public func close() {
    listener.close()
    cut()
  }

  private func take(_ descriptor: Int32) {
    guard !ignoresNew else { return ignored.append(descriptor) }
    guard mode != .cut, let other = try? beginConnection(host: "127.0.0.1", port: target) else {
      resetSocket(descriptor)
      return
    }
    do {
      let link = try ProxyLink(descriptor, other, proxy: self)
      links[ObjectIdentifier(link)] = link
    } catch {
      resetSocket(descriptor)
      resetSocket(other)
    }
  }

  fileprivate func forget(_ link: ProxyLink) { links[ObjectIdentifier(link)] = nil }
}

/// One connection and its continuation.
@LoopActor
private final class ProxyLink {
  private let near: ProxyEnd
  private let far: ProxyEnd
  private weak var proxy: FaultProxy?
  private var timer: LoopTimer?
  /// Bytes of the server that are on their way, with the times of their arrival.
  private var late: [(due: ContinuousClock.Instant, bytes: [UInt8])] = []
  private var lateTimer: LoopTimer?
  private var isClosed = false

  init(_ near: Int32, _ far: Int32, proxy: FaultProxy) throws {
    self.proxy = proxy
    self.near = ProxyEnd(near)
    self.far = ProxyEnd(far)
    try self.near.watch { [weak self] in self?.move($0, self?.near, self?.far) }
    do {
      try self.far.watch { [weak self] in self?.move($0, self?.far, self?.near) }
    } catch {
      self.near.watcher?.close()
      throw error
    }
    timer = LoopTimer { [weak self] in self?.share() }
    lateTimer = LoopTimer { [weak self] in self?.arrive() }
    modeChanged()
  }

  func modeChanged() {
    guard !isClosed else { return }
    if case .slow = proxy?.mode {
      timer?.start(after: FaultProxy.tick, every: FaultProxy.tick)
      share()
    } else {
      timer?.stop()
      for end in [near, far] { end.allowance = proxy?.mode == .stalled ? 0 : .max }
      rewatch()
    }
  }

  /// Sets how many bytes each direction may carry until the next tick.
  private func share() {
    guard case .slow(let rate) = proxy?.mode else { return }
    for end in [near, far] { end.allowance = max(1, rate / 50) }
    rewatch()
  }

  private func rewatch() {
    guard !isClosed else { return }
    for (end, other) in [(near, far), (far, near)] {
      var readiness: Readiness = []
      if other.pending.isEmpty, end.allowance > 0 { readiness.insert(.readable) }
      // Bytes that wait to be written count already. A stalled network holds them too.
      if !end.pending.isEmpty, proxy?.mode != .stalled { readiness.insert(.writable) }
      end.watcher?.watch(readiness)
    }
  }

  private func move(_ readiness: Readiness, _ end: ProxyEnd?, _ other: ProxyEnd?) {
    guard let end, let other, !isClosed else { return }
    if readiness.contains(.writable), !end.flush() { return reset() }
    if readiness.contains(.readable), other.pending.isEmpty, end.allowance > 0 {
      var bytes = [UInt8](repeating: 0, count: min(1 << 16, end.allowance))
      let count = recv(end.descriptor, &bytes, bytes.count, 0)
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      guard count > 0 else { return count == 0 ? finish() : reset() }
      if end.allowance != .max { end.allowance -= count }
      if let delay = delay(from: end) {
        send(Array(bytes.prefix(count)), after: delay)
      } else {
        other.pending = Array(bytes.prefix(count))
        if !other.flush() { return reset() }
      }
    }
    rewatch()
  }

  /// How long the bytes of a side are on their way; `nil` for no time. No byte overtakes another.
  private func delay(from end: ProxyEnd) -> Duration? {
    guard end === far else { return nil }
    if case .late(let delay) = proxy?.mode { return delay }
    return late.isEmpty ? nil : .zero
  }

  private func send(_ bytes: [UInt8], after delay: Duration) {
    let due = max(ContinuousClock.now + delay, late.last?.due ?? .now)
    late.append((due, bytes))
    if late.count == 1 { lateTimer?.start(after: delay) }
  }

  private func arrive() {
    guard !isClosed else { return }
    while near.pending.isEmpty, let first = late.first, first.due <= .now {
      near.pending = late.removeFirst().bytes
      if !near.flush() { return reset() }
    }
    if let next = late.first { lateTimer?.start(after: max(.milliseconds(1), next.due - .now)) }
    rewatch()
  }

  /// One side has closed: the proxy has already passed on everything that it sent.
  private func finish() { end { close($0) } }

  /// Ends both sides as a broken network does.
  func reset() { end(with: resetSocket) }

  private func end(with close: (Int32) -> Void) {
    guard !isClosed else { return }
    isClosed = true
    timer?.close()
    lateTimer?.close()
    for end in [near, far] {
      end.watcher?.close()
      close(end.descriptor)
    }
    proxy?.forget(self)
  }
}

/// One socket of a connection.
@LoopActor
private final class ProxyEnd {
  let descriptor: Int32
  private(set) var watcher: DescriptorWatcher?
  /// Bytes that still wait to be written to the socket.
  var pending: [UInt8] = []
  /// How many bytes may be read from the socket.
  var allowance = Int.max

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  func watch(_ handler: @escaping @LoopActor (Readiness) -> Void) throws {
    watcher = try DescriptorWatcher(descriptor: descriptor, handler)
  }

  /// Writes as much as the socket takes; false when the socket is broken.
  func flush() -> Bool {
    while !pending.isEmpty {
      let count = send(descriptor, pending, pending.count, Int32(MSG_NOSIGNAL))
      if count < 0 { return errno == EAGAIN || errno == EINTR || errno == ENOTCONN }
      pending.removeFirst(count)
    }
    return true
  }
}

/// Closes a socket so that the other side gets a reset.
private func resetSocket(_ descriptor: Int32) {
  var now = linger(l_onoff: 1, l_linger: 0)
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
  close(descriptor)
}
