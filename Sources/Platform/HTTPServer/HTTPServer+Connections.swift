import CMicroHTTPD
import EventLoop
import Formats
import Glibc

/// The connections: who gets a place, and who has to go.
extension HTTPServer {
  /// How many connections are open.
  public var openConnections: Int { connections.count }

  /// The memory of the large bodies in a room, in bytes.
  public func heldBytes(in room: LargeBody.Room) -> Int { rooms[room]?.held ?? 0 }

  // MARK: Coming and going

  /// Gives an accepted connection to libmicrohttpd, if it gets a place.
  func take(_ descriptor: Int32) throws {
    guard let daemon else {
      Glibc.close(descriptor)
      return
    }
    let peer: String? = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
      countersign_peer(descriptor, text.baseAddress!) == 0 ? nil : String(cString: text.baseAddress!)
    }
    let isProxy = peer.map { configuration.isProxy($0) } ?? false
    switch places.admit(AddressGroup(peer), isProxy: isProxy, now: now) {
    case .refused(let cause):
      configuration.onCut(cause)
      Glibc.close(descriptor)
      return
    case .admitted(let id, let victim):
      if let victim { cut(victim) }
      admitted = (id, peer)
      defer { admitted = nil }
      guard countersign_mhd_add(daemon, descriptor) == .YES else {
        places.remove(id)
        throw ListenError(
          target: ServerAddress(host: configuration.host, port: port).description,
          cause: "libmicrohttpd took no further connection")
      }
    }
    run()
  }

  /// Makes the record of a connection that libmicrohttpd has just taken.
  func begin(_ connection: OpaquePointer) -> ServerConnection {
    // The server adds all connections itself, and libmicrohttpd calls back within that call.
    let known = admitted ?? (-1, nil)
    let record = ServerConnection(id: known.id, connection: connection, peer: known.peer)
    connections[record.id] = record
    followPlaces()
    return record
  }

  /// Forgets a connection that libmicrohttpd is about to close.
  func end(_ record: ServerConnection) {
    if let exchange = record.held {
      complete(exchange)
      // libmicrohttpd has told nobody, so it has not answered either. The socket is still open.
      if !exchange.isBegun, !record.isCut { exchange.refuseHead() }
    }
    connections[record.id] = nil
    places.remove(record.id)
    if connections.isEmpty { unconnected.notify() }
    followPlaces()
  }

  /// Accepts connections only while a newcomer finds a place. The others wait in the system's backlog.
  private func followPlaces() { listener?.accepts(places.hasPlace(at: now)) }

  // MARK: One connection

  /// Notes what a connection does from now on.
  func enter(_ phase: ConnectionPlaces.Phase, _ record: ServerConnection) {
    record.enter(phase)
    places.enter(phase, record.id, now: now)
  }

  /// Takes back what a request held.
  func complete(_ exchange: Exchange) {
    drop(exchange)
    unreadAnswers.end(exchange.record.id)
    endStream(of: exchange)
    enter(.idle, exchange.record)
    exchange.record.held = nil
  }

  /// Asks a listed proxy for the client, and counts the request for it.
  ///
  /// - Returns: whether the client has not too many requests in flight.
  func admitsClient(of exchange: Exchange) -> Bool {
    guard let peer = exchange.record.peer, places.isProxy(exchange.record.id) else { return true }
    exchange.origin = RequestOrigin(proxy: peer, client: configuration.clientBehindProxy(peer, exchange.headers))
    return places.begin(exchange.record.id, of: AddressGroup(exchange.origin.client))
  }

  /// Makes the memory of a body large enough for a piece.
  ///
  /// - Returns: whether there is room. Bodies of whoever holds most may have to go for it.
  func takesRoom(_ bytes: Int, _ exchange: Exchange) -> Bool {
    let growth = exchange.grow(for: bytes)
    guard growth > 0, let room = exchange.room, let verdict = rooms[room]?.take(growth, for: exchange.record.id) else {
      return true
    }
    switch verdict {
    case .taken(let victims):
      for id in victims { cut(ConnectionPlaces.Cut(id: id, cause: .room)) }
      return true
    case .refused(let cause):
      configuration.onBodyRefused(cause)
      return false
    }
  }

  // MARK: The end

  /// Cuts the connections whose time is over, and those whose clients are gone.
  func cutOverdue() {
    for overdue in places.overdue(at: now) { cut(overdue) }
    if now - lastLookForAbandoned >= .seconds(1) {
      lastLookForAbandoned = now
      for record in connections.values where record.isAbandoned() {
        places.remove(record.id)
        end(record, with: nil)
      }
    }
    followPlaces()
  }

  /// Ends a connection, with an answer if one can still go out.
  func cut(_ which: ConnectionPlaces.Cut) {
    places.remove(which.id)
    guard let record = connections[which.id], !record.isCut else { return }
    configuration.onCut(which.cause)
    let exchange = record.exchange
    // An answer that is under way must not get another one in its middle, and a silent connection awaits none.
    let mayAnswer = !record.isAnswering && (exchange != nil || which.cause != .places && which.cause != .addressShare)
    let answer = mayAnswer ? self.answer(to: which.cause, exchange) : nil
    end(record, with: answer)
  }

  /// Takes back the room of a connection, and lets libmicrohttpd see its end.
  private func end(_ record: ServerConnection, with answer: HTTPServerResponse?) {
    if let exchange = record.exchange { drop(exchange) }
    unreadAnswers.end(record.id)
    record.cut(answer)
    // libmicrohttpd does not watch the socket of a connection that was parked.
    runLater.plan()
  }

  private func answer(to cause: CutCause, _ exchange: Exchange?) -> HTTPServerResponse {
    switch cause {
    case .slowHead: .text(408, "the head did not arrive in time\n")
    case .slowBody: .text(408, "the body did not arrive in time\n")
    case .stalled: .text(400, "malformed or too long\n")
    case .room:
      if let path = exchange?.rawPath { refuseBody(path, .noRoom) } else { Self.refusal(of: "", .noRoom) }
    case .places, .addressShare, .slowReader, .answerRoom: Self.refusal(of: "", .noRoom)
    }
  }

  /// Looks for the connections that keep libmicrohttpd busy with nothing.
  func findStalled() {
    for (id, record) in connections where !record.isCut && !record.isParked && !record.isAnswering {
      switch stalls.look(at: id, calls: record.calls, waiting: record.waiting) {
      case .moves: break
      // In libmicrohttpd 0.9.75, only a body stops with nothing at its socket. Other connections just wait.
      case .park where record.exchange == nil: break
      case .park:
        record.park { [weak self, weak record] in
          record?.unpark()
          self?.run()
        }
      case .cut: cut(ConnectionPlaces.Cut(id: id, cause: .stalled))
      }
    }
  }
}

extension HTTPServer.Configuration {
  var placeLimits: ConnectionPlaces.Limits {
    ConnectionPlaces.Limits(
      most: maxConnections, perAddress: maxConnectionsPerAddress, headTime: headTimeout, bodyTime: bodyTimeout,
      idleTime: idleTimeout, leastPace: minBodyRate, grace: placeGrace)
  }

  /// How often the server looks at the deadlines: a second, or less where one is shorter.
  var sweepInterval: Duration {
    let shortest = [headTimeout, bodyTimeout, idleTimeout, placeGrace, .seconds(4)].min() ?? .seconds(4)
    return max(.milliseconds(10), shortest / 4)
  }
}
