import CCurl
public import EventLoop
public import HTTP

/// An HTTP client over libcurl's multi interface, on the process's loop: HTTP/2, multiplexed, connections reused.
@LoopActor
public final class HTTPClient: HTTPSender {
  /// How many connections stay open after use; each takes some 40 KiB with TLS.
  ///
  /// libcurl's own limit is four for each request under way. With it, each of a hundred hosts that get a request now
  /// and then would cost a handshake every time.
  private static let keptConnections = 256

  private let configuration: HTTPClientConfiguration
  private var multi: UnsafeMutableRawPointer?
  private var timer: LoopTimer?
  private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
  /// Transfers that are ready for another request.
  private var spare: [Transfer] = []
  private var next = 0
  private var watchers: [Int32: DescriptorWatcher] = [:]

  /// Creates a client that is ready for requests.
  public init(_ configuration: HTTPClientConfiguration = HTTPClientConfiguration()) {
    self.configuration = configuration
    // The call is not thread-safe in itself, but only the loop makes it. A second call only counts.
    curl_global_init(Int(CURL_GLOBAL_ALL))
    let multi = curl_multi_init()
    self.multi = multi
    let own = Unmanaged.passUnretained(self).toOpaque()
    // Unretained is right: `close`, which must be called, shuts libcurl down before the client ends.
    countersign_curl_multi_set_socket_callback(multi, onSocket, own)
    countersign_curl_multi_set_timer_callback(multi, onTimer, own)
    countersign_curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    countersign_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maxConnectionsPerHost)
    countersign_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.keptConnections)
    timer = LoopTimer { [weak self] in self?.act(CURL_SOCKET_TIMEOUT, 0) }
  }

  /// Sends a request and returns the whole answer with any status. It does not follow redirects.
  ///
  /// - Throws: ``HTTPClientError``.
  public func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse {
    let transfer: Transfer
    if let known = spare.popLast() { transfer = known } else { transfer = try Transfer(configuration) }
    let number = next
    next += 1
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { waiter in
          transfer.prepare(request, number: number, waiter)
          guard let multi, !Task.isCancelled else {
            return refuse(transfer, .cancelled, "the client is closed")
          }
          transfers[transfer.easy] = transfer
          let status = curl_multi_add_handle(multi, transfer.easy)
          guard status == CURLM_OK else {
            transfers[transfer.easy] = nil
            return refuse(transfer, .invalidRequest, String(cString: curl_multi_strerror(status)))
          }
        }
      } onCancel: {
        Task { @LoopActor in self.cancel(transfer, number) }
      }
    } catch let error as HTTPClientError {
      throw error
    } catch {
      // The client resumes the continuation only with the type above.
      throw HTTPClientError(code: .interrupted, target: request.method, cause: "\(error)")
    }
  }

  /// Each spare transfer takes some 6 KiB.
  private static let maxSpare = 256

  /// How many requests are under way.
  public var inFlight: Int { transfers.count }

  /// Ends all requests with ``HTTPClientError/Code/cancelled`` and closes the connections.
  public func close() {
    guard let multi else { return }
    for transfer in transfers.values { cancel(transfer, transfer.number) }
    for transfer in spare { transfer.close() }
    spare.removeAll()
    self.multi = nil
    curl_multi_cleanup(multi)
    timer?.close()
    timer = nil
    for watcher in watchers.values { watcher.close() }
    watchers.removeAll()
  }

  /// Ends a request after its caller has given it up, unless it has ended and its transfer serves another one.
  private func cancel(_ transfer: Transfer, _ number: Int) {
    // The object counts too: a freed handle may have given its address to the next handle.
    guard let multi, transfers[transfer.easy] === transfer, transfer.number == number else { return }
    transfers[transfer.easy] = nil
    curl_multi_remove_handle(multi, transfer.easy)
    refuse(transfer, .cancelled, "cancelled")
  }

  /// Ends a request that did not run to its end. Its handle serves no other request.
  private func refuse(_ transfer: Transfer, _ code: HTTPClientError.Code, _ cause: String) {
    transfer.fail(code, cause)
    transfer.close()
  }

  // MARK: libcurl calls

  private func act(_ descriptor: Int32, _ events: Int32) {
    guard let multi else { return }
    var running: Int32 = 0
    curl_multi_socket_action(multi, descriptor, events, &running)
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      let result = message.pointee.data.result  // the message is gone once its handle is removed
      curl_multi_remove_handle(multi, easy)
      guard let transfer = transfers.removeValue(forKey: easy) else { continue }
      transfer.finish(result)
      if result == CURLE_OK, transfer.isReusable, spare.count < Self.maxSpare {
        spare.append(transfer)
      } else {
        transfer.close()
      }
    }
  }

  fileprivate func watch(_ descriptor: Int32, _ action: Int32) {
    guard action != CURL_POLL_REMOVE else {
      watchers.removeValue(forKey: descriptor)?.close()
      return
    }
    if watchers[descriptor] == nil {
      // If this fails, libcurl sees a timeout of the request.
      watchers[descriptor] = try? DescriptorWatcher(descriptor: descriptor) { [weak self] readiness in
        var events: Int32 = 0
        if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
        self?.act(descriptor, events)
      }
    }
    var readiness: Readiness = []
    if action & CURL_POLL_IN != 0 { readiness.insert(.readable) }
    if action & CURL_POLL_OUT != 0 { readiness.insert(.writable) }
    watchers[descriptor]?.watch(readiness)
  }

  fileprivate func schedule(_ milliseconds: Int) {
    // libcurl forbids calls to it from this callback, so even 0 ms goes through the loop.
    if milliseconds < 0 { timer?.stop() } else { timer?.start(after: .milliseconds(milliseconds)) }
  }
}

private func onSocket(
  _: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ action: Int32, _ context: UnsafeMutableRawPointer?,
  _: UnsafeMutableRawPointer?
) -> Int32 {
  let client = Unmanaged<HTTPClient>.fromOpaque(context!).takeUnretainedValue()
  LoopActor.assumeIsolated { client.watch(descriptor, action) }
  return 0
}

private func onTimer(_: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?) -> Int32 {
  let client = Unmanaged<HTTPClient>.fromOpaque(context!).takeUnretainedValue()
  LoopActor.assumeIsolated { client.schedule(milliseconds) }
  return 0
}
