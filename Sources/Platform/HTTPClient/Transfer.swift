import CCurl
import EventLoop
import Glibc
import HTTP

/// One request on its way: an easy handle, the memory to which it points, and the caller that waits.
///
/// After its end the transfer serves the client's next request. So libcurl need not make and set up another handle.
@LoopActor
final class Transfer {
  let easy: UnsafeMutableRawPointer
  private let configuration: HTTPClientConfiguration
  private let errorText: UnsafeMutablePointer<CChar>
  private var headerList: UnsafeMutablePointer<curl_slist>?
  /// The number of the client's request that it serves.
  private(set) var number = 0
  private var method = ""
  private var url = ""
  private var timeout: Duration?
  private var maxBytes = 0
  private var head = AnswerHead()
  private var body: [UInt8] = []
  private var isBodyTooLong = false
  private var hasBody = false
  private var cutsLongResponse = false
  private var trustsAnyCertificate = false
  private var hasRefusedAddress = false
  private var waiter: CheckedContinuation<HTTPClientResponse, any Error>?

  /// - Throws: ``HTTPClientError`` without memory for a handle.
  init(_ configuration: HTTPClientConfiguration) throws(HTTPClientError) {
    guard let easy = curl_easy_init() else {
      throw HTTPClientError(code: .invalidRequest, target: "new request", cause: "out of memory")
    }
    self.easy = easy
    self.configuration = configuration
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    setUp()
  }

  /// Method and host, for errors.
  var target: String { "\(method) \(Transfer.host(of: url))" }

  /// Sets the options that are the same for all requests of the client.
  private func setUp() {
    set(CURLOPT_PROTOCOLS_STR, configuration.allowsPlainHTTP ? "http,https" : "https")
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    if !configuration.keepsConnections {
      set(CURLOPT_FRESH_CONNECT, 1)
      set(CURLOPT_FORBID_REUSE, 1)
    }
    set(CURLOPT_NOSIGNAL, 1)
    // libcurl looks a name up on a thread of its own. Without this option, a request that ends earlier waits for that
    // thread, and the loop waits with it. A silent name server, which a stranger may choose, would then block the loop.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    // CURLOPT_BUFFERSIZE stays at its 16 KiB, the largest frame of HTTP/2. With less, a frame has to wait for its
    // stream. Meanwhile libcurl 7.88 forgets the connection's other streams, some until they time out.
    set(CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.connectTimeout.wholeMilliseconds))
    set(CURLOPT_USERAGENT, configuration.userAgent)
    // A body stays as it comes: without CURLOPT_ACCEPT_ENCODING libcurl unpacks none (`AnswerHead.foreignCoding`).
    // Keys are agreed on over elliptic curves only. In a finite field the server chooses the prime, and libcurl would
    // compute with 10,000 bits on the loop, for a second.
    set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:!kDHE:!PSK")
    set(CURLOPT_SSL_EC_CURVES, "X25519:P-256:P-384:P-521")
    if let file = configuration.caFile {
      set(CURLOPT_CAINFO, file)
      // Debian's libcurl trusts the system's folder of authorities besides, and keeps what it has read for a day.
      countersign_curl_set_pointer(easy, CURLOPT_CAPATH, nil)
      set(CURLOPT_CA_CACHE_TIMEOUT, 0)
    }

    countersign_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
    let own = Unmanaged.passUnretained(self).toOpaque()
    // Unretained is right: the client holds the transfer until it has removed the handle from libcurl.
    countersign_curl_set_pointer(easy, CURLOPT_WRITEDATA, own)
    countersign_curl_set_data_callback(easy, CURLOPT_WRITEFUNCTION, onBody)
    countersign_curl_set_pointer(easy, CURLOPT_HEADERDATA, own)
    countersign_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION, onHeader)
    if configuration.allowsAddress != nil {
      set(CURLOPT_PROXY, "")
      countersign_curl_set_open_socket_callback(easy, own, onOpenSocket)
    }
  }

  /// Sets the options of this request.
  func prepare(
    _ request: HTTPClientRequest, number: Int, _ waiter: CheckedContinuation<HTTPClientResponse, any Error>
  ) {
    self.waiter = waiter
    self.number = number
    (method, url, maxBytes) = (request.method, request.url, request.maxResponseBytes)
    hasBody = request.body != nil
    (cutsLongResponse, trustsAnyCertificate) = (request.cutsLongResponse, request.trustsAnyCertificate)
    set(CURLOPT_URL, request.url)
    if timeout != request.timeout {
      timeout = request.timeout
      set(CURLOPT_TIMEOUT_MS, Int(request.timeout.wholeMilliseconds))
    }
    // The request waits for a connection that can take another stream, and does not open one more. The first answer
    // tells whether a connection can. So requests to a slow host that speaks HTTP/1.1 would wait for each other.
    set(CURLOPT_PIPEWAIT, configuration.awaitsMultiplexing && request.url.hasPrefix("https://") ? 1 : 0)
    if trustsAnyCertificate {
      set(CURLOPT_SSL_VERIFYPEER, 0)
      set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    switch request.method {
    case "GET": break
    case "HEAD": set(CURLOPT_NOBODY, 1)  // else libcurl waits for a body
    default: set(CURLOPT_CUSTOMREQUEST, request.method)
    }
    if let body = request.body {
      set(CURLOPT_POSTFIELDSIZE, body.count)
      _ = body.withUnsafeBytes {
        countersign_curl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafeRawPointer(errorText))
      }
    }
    for header in request.headers {
      headerList = curl_slist_append(headerList, "\(header.name): \(header.value)")
    }
    // Without this line libcurl waits a second for "100 Continue" before a larger body.
    if request.body != nil { headerList = curl_slist_append(headerList, "Expect:") }
    countersign_curl_set_pointer(easy, CURLOPT_HTTPHEADER, headerList)
  }

  /// Whether libcurl may open a socket to an address.
  fileprivate func allows(_ address: [UInt8]) -> Bool {
    let isAllowed = configuration.allowsAddress?(address) ?? true
    hasRefusedAddress = !isAllowed
    return isAllowed
  }

  /// Whether the handle may serve another request. After a plain GET there are no options to take back.
  var isReusable: Bool { method == "GET" && !hasBody && !trustsAnyCertificate }

  private func set(_ option: CURLoption, _ value: Int) { countersign_curl_set_long(easy, option, value) }

  /// libcurl copies every string option at once.
  private func set(_ option: CURLoption, _ value: String) { countersign_curl_set_pointer(easy, option, value) }

  /// Takes a piece of the body. Returns false when the answer is too long.
  fileprivate func receiveBody(_ piece: UnsafeRawBufferPointer) -> Bool {
    guard body.count + piece.count <= maxBytes else {
      isBodyTooLong = true
      if cutsLongResponse { body.append(contentsOf: piece.prefix(maxBytes - body.count)) }
      return false
    }
    if body.isEmpty {
      var length = 0
      countersign_curl_get_length(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length)
      body.reserveCapacity(min(max(length, piece.count), maxBytes))
    }
    body.append(contentsOf: piece)
    return true
  }

  /// Takes a line of the head. Returns false when the answer ends here.
  fileprivate func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { head.take(line) }

  /// Ends the transfer with libcurl's result. The handle must be off the multi handle already.
  func finish(_ result: CURLcode) {
    guard result == CURLE_OK || isBodyTooLong && cutsLongResponse && !head.isTooLong else {
      let text = String(cString: errorText)
      let cause = text.isEmpty ? String(cString: curl_easy_strerror(result)) : text
      if hasRefusedAddress, result == CURLE_COULDNT_CONNECT {
        return fail(.forbiddenAddress, "the host has no address that is allowed")
      }
      if head.isTooLong {
        return fail(.responseTooLarge, "the answer's header fields are longer than \(AnswerHead.maxBytes) bytes")
      }
      if let coding = head.foreignCoding {
        return fail(.interrupted, "the answer has the transfer coding \"\(coding)\", and the client reads chunked only")
      }
      if isBodyTooLong { return fail(.responseTooLarge, "the answer is longer than \(maxBytes) bytes") }
      return fail(.init(result), cause)
    }
    var status = 0
    countersign_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
    let response = HTTPClientResponse(status: status, headers: head.fields, body: body)
    end()?.resume(returning: response)
  }

  func fail(_ code: HTTPClientError.Code, _ cause: String) {
    let error = HTTPClientError(code: code, target: target, cause: cause)
    end()?.resume(throwing: error)
  }

  /// Forgets the request and returns its caller.
  private func end() -> CheckedContinuation<HTTPClientResponse, any Error>? {
    curl_slist_free_all(headerList)
    headerList = nil
    (head, body, isBodyTooLong, hasRefusedAddress) = (AnswerHead(), [], false, false)
    errorText.pointee = 0
    defer { waiter = nil }
    return waiter
  }

  /// Frees the handle. It must not carry a request.
  func close() {
    curl_easy_cleanup(easy)
    errorText.deallocate()
  }

  private static func host(of url: String) -> Substring {
    let afterScheme = url.range(of: "://").map { url[$0.upperBound...] } ?? url[...]
    return afterScheme.prefix { $0 != "/" && $0 != "?" }
  }
}

extension StringProtocol {
  /// The first place of `text`. The standard library has no such function without Foundation.
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}

extension HTTPClientError.Code {
  fileprivate init(_ result: CURLcode) {
    switch result {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_PROXY: self = .unreachable
    case CURLE_OPERATION_TIMEDOUT: self = .timeout
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM:
      self = .tls
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT: self = .invalidRequest
    default: self = .interrupted
    }
  }
}

private func onBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  let transfer = Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
  // Only this call reads the bytes, on the loop's thread.
  nonisolated(unsafe) let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return LoopActor.assumeIsolated { transfer.receiveBody(piece) } ? piece.count : 0
}

private func onHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  let transfer = Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
  // Only this call reads the bytes, on the loop's thread.
  nonisolated(unsafe) let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return LoopActor.assumeIsolated { transfer.receiveHeader(line) } ? line.count : 0
}

/// Opens a socket as libcurl would, unless the configuration refuses its address. libcurl then tries the host's next
/// address.
private func onOpenSocket(
  _ context: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let address, let start = countersign_curl_address(address) else { return CURL_SOCKET_BAD }
  let place: Range<Int>
  switch address.pointee.family {
  case AF_INET: place = 4..<8  // sin_addr in sockaddr_in
  case AF_INET6: place = 8..<24  // sin6_addr in sockaddr_in6
  default: return CURL_SOCKET_BAD
  }
  guard Int(address.pointee.addrlen) >= place.upperBound else { return CURL_SOCKET_BAD }
  let bytes = Array(UnsafeRawBufferPointer(start: start, count: Int(address.pointee.addrlen))[place])
  let transfer = Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
  guard LoopActor.assumeIsolated({ transfer.allows(bytes) }) else { return CURL_SOCKET_BAD }
  return socket(
    address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
}
