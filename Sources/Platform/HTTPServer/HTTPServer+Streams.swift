import CMicroHTTPD
import EventLoop

/// The answers whose bodies are written while their clients read them.
extension HTTPServer {
  /// How many answers are streams that have not ended.
  public var openStreams: Int { streams.count }

  /// Makes libmicrohttpd's form of an answer with a stream, which the caller owns; `nil` without memory.
  ///
  /// libmicrohttpd sends the body in chunks. If the body breaks off, the last chunk does not come. A client with
  /// HTTP/1.0 gets no chunks, and cannot tell.
  func makeStreamed(_ response: HTTPServerResponse, _ exchange: Exchange) -> OpaquePointer? {
    let reading = StreamReading(self, exchange)
    let kept = Unmanaged.passRetained(reading).toOpaque()
    guard
      let made = MHD_create_response_from_callback(
        countersign_mhd_unknown_size, Self.streamBlockBytes, onRead, kept, onForgotten)
    else {
      onForgotten(kept)
      return nil
    }
    response.addHeaders(to: made)
    return made
  }

  /// Whether the connection must end with an answer: libmicrohttpd (0.9.75) sends the end of the chunks also for HEAD,
  /// and the next answer would begin with it.
  func isHeadOfStream(_ response: HTTPServerResponse, _ exchange: Exchange) -> Bool {
    response.stream != nil && exchange.method == "HEAD"
  }

  /// Takes a stream into the server's list, until libmicrohttpd has completed the request.
  func begin(_ stream: AnswerStream, _ exchange: Exchange) {
    exchange.stream = stream
    streams[ObjectIdentifier(exchange)] = exchange
    stream.onReadable = { [weak self, weak exchange] in
      if let exchange { self?.wake(exchange) }
    }
  }

  /// Lets a stream's writer know that nobody reads any more. It does nothing to other answers.
  func endStream(of exchange: Exchange) {
    guard let stream = exchange.stream else { return }
    exchange.stream = nil
    exchange.awaitsPiece = false
    stream.leave()
    streams[ObjectIdentifier(exchange)] = nil
    tellIfIdle()
  }

  /// Breaks all streams off. libmicrohttpd must not stop with a connection that is suspended for one.
  func failStreams() {
    for exchange in streams.values {
      exchange.stream?.fail()
      wake(exchange)
    }
  }

  /// Lets libmicrohttpd read on.
  private func wake(_ exchange: Exchange) {
    guard exchange.awaitsPiece else { return }
    exchange.awaitsPiece = false
    MHD_resume_connection(exchange.connection)
    runLater.plan()
  }

  /// Gives libmicrohttpd the next bytes.
  ///
  /// While there are none, the connection is suspended, and counts as one whose handler works: its client is not slow.
  /// With each piece, the client's time begins anew.
  fileprivate func read(_ exchange: Exchange, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let stream = exchange.stream, !exchange.record.isCut else { return countersign_mhd_end_with_error }
    switch stream.take(into: buffer) {
    case .bytes(let count):
      enter(.answering(bytes: count), exchange.record)
      return count
    case .end:
      enter(.answering(bytes: 0), exchange.record)
      return countersign_mhd_end_of_stream
    case .broken: return countersign_mhd_end_with_error
    case .nothingYet:
      enter(.running, exchange.record)
      exchange.awaitsPiece = true
      MHD_suspend_connection(exchange.connection)
      return 0
    }
  }

  /// The most that libmicrohttpd asks for at once, where it does not send chunks.
  private static let streamBlockBytes = 16 << 10
}

/// What libmicrohttpd keeps for one streamed answer.
private final class StreamReading {
  // Unowned is right: `close`, which must be called, stops the daemon before the server ends.
  unowned let server: HTTPServer
  let exchange: Exchange

  init(_ server: HTTPServer, _ exchange: Exchange) { (self.server, self.exchange) = (server, exchange) }
}

private func onRead(
  _ context: UnsafeMutableRawPointer?, _: UInt64, _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
  let reading = Unmanaged<StreamReading>.fromOpaque(context!).takeUnretainedValue()
  let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size)
  return LoopActor.assumeIsolated(with: (reading, buffer)) { $0.server.read($0.exchange, into: $1) }
}

private func onForgotten(_ context: UnsafeMutableRawPointer?) {
  Unmanaged<StreamReading>.fromOpaque(context!).release()
}
