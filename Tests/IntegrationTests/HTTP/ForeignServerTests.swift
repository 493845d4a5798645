import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import HTTP
import HTTPClient
import TestSupport
import Testing

/// What a foreign server cannot make the client do: inflate an answer, or compute with numbers of its choice.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct ForeignServerTests {
  /// Sends a request to a server that gives the same bytes to every connection.
  private func answer(_ bytes: [UInt8]) async throws -> HTTPClientResponse {
    var descriptors: [Int32] = []
    let listener = try Listener(host: "127.0.0.1", port: 0) { descriptor in
      descriptors.append(descriptor)
      #expect(send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) == bytes.count)
      shutdown(descriptor, Int32(SHUT_WR))
    }
    defer {
      listener.close()
      for descriptor in descriptors { close(descriptor) }
    }
    var configuration = HTTPClientConfiguration.patient
    configuration.allowsPlainHTTP = true
    let client = HTTPClient(configuration)
    defer { client.close() }
    return try await client.send(HTTPClientRequest("GET", "http://127.0.0.1:\(listener.port)/"))
  }

  /// `hello`, packed by `gzip`. A few such layers over each other make days of work of some kilobytes.
  private static let packed: [UInt8] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x86, 0xa6,
    0x10, 0x36, 0x05, 0x00, 0x00, 0x00,
  ]

  @Test(arguments: ["gzip", "gzip, gzip, gzip", "deflate", "br", "zstd"])
  func `a packed body stays packed`(coding: String) async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(Self.packed.count)\r\n\r\n"
    let answer = try await answer(Array(head.utf8) + Self.packed)
    #expect(answer.status == 200 && answer.body == Self.packed)
  }

  @Test(arguments: [
    "gzip", "gzip, chunked", "gzip, gzip, gzip", "deflate", "chunked, chunked", "identity, gzip", "",
    "chunked\r\nTransfer-Encoding: gzip", "gzip\r\nTransfer-Encoding: chunked",
  ])
  func `a transfer coding other than chunked ends the answer`(coding: String) async throws {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n"
    let error = await #expect(throws: HTTPClientError.self) { _ = try await answer(Array(head.utf8) + Self.packed) }
    #expect(error?.code == .interrupted && error?.cause.contains("transfer coding") == true, "\(error as Any)")
  }

  @Test(arguments: [
    ("chunked", "5\r\nhello\r\n0\r\n\r\n"), ("Chunked", "5\r\nhello\r\n0\r\n\r\n"),
    (" chunked\t", "5\r\nhello\r\n0\r\n\r\n"), ("identity", "hello"),
  ])
  func `an answer in chunks or as it is, is read`(coding: String, body: String) async throws {
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n\(body)"
    #expect(try await answer(Array(text.utf8)).body == Array("hello".utf8))
  }

  /// With an own prime of 10,000 bits one handshake would take the loop for a second.
  @Test(arguments: [
    (["-tls1_2", "-cipher", "DHE-RSA-AES256-GCM-SHA384"], false), (["-tls1_3", "-groups", "ffdhe3072"], false),
    (["-tls1_2", "-cipher", "ECDHE-RSA-AES256-GCM-SHA384"], true), (["-tls1_3"], true),
    (["-tls1_3", "-groups", "P-384"], true),
  ])
  func `keys are agreed on over elliptic curves only`(options: [String], isTaken: Bool) async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/countersign-tls-\(UInt32.random(in: 0...UInt32.max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (key, certificate, output) = (folder + "/key.pem", folder + "/certificate.pem", folder + "/output")
    let made = try ChildProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
      ], output: output)
    #expect(try await made.ended() == 0)
    let server = try ChildProcess(
      "/usr/bin/openssl",
      ["s_server", "-www", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate] + options, output: output)
    var port = ""
    try await eventually("the server listens") {
      let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
      let line = text.split(separator: "\n").last { $0.hasPrefix("ACCEPT ") }
      port = line?.split(separator: ":").last.map(String.init) ?? ""
      return !port.isEmpty
    }
    let client = HTTPClient(.patient)
    var request = HTTPClientRequest("GET", "https://127.0.0.1:\(port)/")
    request.trustsAnyCertificate = true
    let answer: Result<HTTPClientResponse, HTTPClientError>
    do { answer = .success(try await client.send(request)) } catch { answer = .failure(error) }
    client.close()
    await server.kill()
    switch answer {
    case .success(let answer): #expect(isTaken && answer.status == 200)
    case .failure(let error): #expect(!isTaken && error.code == .tls, "\(error)")
    }
  }
}
