import EventLoop
import Fleets
import HTTPServer
import Testing

/// Requests whose head fits the connection's memory, hardly fits it, or does not fit.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct HTTPServerHeadTests {
  /// The part that makes a head long.
  enum Shape: CaseIterable {
    case oneField, manyFields, longPath, oneCookie, manyCookies, oneParameter, manyParameters

    /// The text of a request with a head of a number of bytes, at least 200.
    func request(_ bytes: Int, method: String = "POST", body: String = "x") -> String {
      let frame = " HTTP/1.1\r\nHost: here\r\nContent-Length: \(body.utf8.count)\r\n"
      // The method with its space, the path /x, and the empty line.
      let rest = bytes - frame.utf8.count - method.utf8.count - 5
      let (path, fields): (String, String) =
        switch self {
        case .oneField: ("", "X-Long: " + Self.filled(rest - 10) + "\r\n")
        case .manyFields: ("", Self.filled(rest, with: "X-Field: abc\r\n", ending: "\r\n"))
        case .longPath: (Self.filled(rest), "")
        case .oneParameter: ("?a=" + Self.filled(rest - 3), "")
        case .manyParameters: ("?" + Self.filled(rest - 1, with: "a=b&"), "")
        case .oneCookie: ("", "Cookie: a=" + Self.filled(rest - 12) + "\r\n")
        case .manyCookies: ("", "Cookie: " + Self.filled(rest - 10, with: "a=b; ") + "\r\n")
        }
      return "\(method) /x\(path)\(frame)\(fields)\r\n\(body)"
    }

    /// A text of a number of bytes.
    private static func filled(_ bytes: Int, with piece: String = "a", ending: String = "") -> String {
      let count = (bytes - ending.utf8.count) / piece.utf8.count
      let missing = bytes - count * piece.utf8.count
      // If pieces are fields, one more field takes the bytes that fill no whole piece.
      guard !ending.isEmpty else {
        return String(repeating: piece, count: count) + String(repeating: "a", count: missing)
      }
      return String(repeating: piece, count: count - 1) + "X-Field: abc" + String(repeating: "a", count: missing)
        + ending
    }
  }

  /// Runs a body with the port of a server, and with the number of requests that the server has carried out.
  private func with(
    maxHeaderBytes: Int, _ body: @LoopActor (Int, @LoopActor () -> Int) async throws -> Void
  ) async throws {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.maxHeaderBytes = maxHeaderBytes
    var taken = 0
    let handler: HTTPServer.Handler = { _ in
      taken += 1
      return HTTPServerResponse(status: 202, headers: [("Location", String(repeating: "l", count: 1000))])
    }
    try await HTTPServer.running(configuration, handler: handler) { try await body($0.port, { taken }) }
  }

  private static let sizes = Array(stride(from: 14 << 10, through: 40 << 10, by: 512))
  /// Sizes at which a head fills the connection's memory of 20 KiB.
  private static let brink = Array(stride(from: 19 << 10, through: 21 << 10, by: 16))

  /// If a head leaves no memory for the answer, the server must not carry out the request: the client would not learn
  /// of it.
  @Test(arguments: Shape.allCases, [false, true])
  func `a head of any size gets an answer, and is carried out only with a 202`(
    shape: Shape, isKept: Bool
  ) async throws {
    try await with(maxHeaderBytes: 16 << 10) { port, taken in
      var statuses: Set<Int> = []
      for size in [1 << 10] + Self.sizes + Self.brink {
        let request = shape.request(size)
        #expect(request.utf8.count == size + 1)
        let connection = try RawConnection(port: port)
        defer { connection.close() }
        if isKept { #expect(try await connection.status(of: Shape.oneField.request(300)) == 202) }
        let before = taken()
        let status = try await connection.status(of: request)
        statuses.insert(status ?? 0)
        #expect([202, 413, 414, 431].contains(status ?? 0), "\(size) bytes")
        #expect((taken() > before) == (status == 202), "\(size) bytes: \(status ?? 0)")
      }
      #expect(statuses.contains(202) && statuses.count > 1)
    }
  }

  /// libmicrohttpd rejects such a head twice: for its cookies, which find no room, and for the length. Behind the second
  /// time it closes the connection without a word (0.9.75). fuzz_inputs.py has one, so that the sanitizer sees a leak.
  @Test(arguments: [Shape.oneCookie, .manyCookies])
  func `a head with a wrong length and without room for its cookies gets an answer`(shape: Shape) async throws {
    try await with(maxHeaderBytes: 16 << 10) { port, taken in
      for size in [1 << 10] + Self.sizes + Self.brink {
        let connection = try RawConnection(port: port)
        defer { connection.close() }
        let request = shape.request(size).replacing("Content-Length: 1", with: "Content-Length: x")
        let status = try await connection.status(of: request)
        #expect([400, 413, 431].contains(status ?? 0), "\(size) bytes")
      }
      #expect(taken() == 0)
    }
  }

  @Test func `a refused head closes the connection, and the answer to HEAD has no body`() async throws {
    try await with(maxHeaderBytes: 16 << 10) { port, taken in
      let connection = try RawConnection(port: port)
      defer { connection.close() }
      let requests =
        Shape.oneField.request(18 << 10, method: "GET", body: "") + Shape.oneField.request(300, method: "GET", body: "")
      #expect(try await connection.status(of: requests) == 431)
      #expect(try await connection.status(of: "") == nil)
      #expect(taken() == 0)
      let other = try RawConnection(port: port)
      defer { other.close() }
      // The head names the body's length, and no body follows.
      #expect(try await other.status(of: Shape.oneField.request(18 << 10, method: "HEAD", body: "")) == nil)
      #expect(other.rest.hasPrefix("HTTP/1.1 431 ") && other.rest.hasSuffix("\r\n\r\n"))
    }
  }
}
