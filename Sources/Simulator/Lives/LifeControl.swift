import Formats
import HTTP2Server
import JSON

/// A call of the control API of lives.
enum LifeControl: Equatable, Sendable {
  /// `simulator/lives`.
  case all(after: String?, limit: Int)
  /// `simulator/lives/ID`.
  case one(String)
  /// `simulator/lives/ID/ACTION`.
  case action(String, String)

  /// Reads the parts of a path behind `simulator/lives`.
  init?(_ segments: [String], query: [StoreCall.QueryItem]) {
    guard segments.first.map({ $0.isASCIIDigits(1...20) }) ?? true else { return nil }
    switch segments.count {
    case 0:
      var (after, limit): (String?, Int) = (nil, 100)
      for item in query {
        switch item.name {
        case "after" where item.value.isASCIIDigits(1...20): after = item.value
        case "limit":
          guard let count = Int(item.value), 1...1000 ~= count else { return nil }
          limit = count
        default: return nil
        }
      }
      self = .all(after: after, limit: limit)
    case 1 where query.isEmpty: self = .one(segments[0])
    case 2 where query.isEmpty: self = .action(segments[0], segments[1])
    default: return nil
    }
  }

  /// The methods that the resource has.
  var methods: [String] {
    switch self {
    case .all, .one: ["GET", "PUT"]
    case .action: ["POST"]
    }
  }
}

extension StoreService {
  /// Answers a control call.
  func control(_ call: LifeControl, _ request: HTTP2Request) async -> HTTP2Response {
    guard call.methods.contains(request.method) else {
      return HTTP2Response(status: 405, headers: [("allow", call.methods.joined(separator: ", "))])
    }
    do throws(ControlRefusal) {
      switch call {
      case .all(let after, let limit):
        guard request.method == "GET" else { return try await begin(request.body) }
        let page = try lives.page(after: after, limit: limit)
        return StoreRenderer.json(
          JSONWriter.object { json in
            json.member("time", now())
            json.member("count", Int64(lives.count))
            json.member("lives", page.lives) { life, json in life.write(to: &json, now: now()) }
            json.member("next", page.next)
          })
      case .one(let id):
        guard request.method == "PUT" else { return truth(try lives.life(id)) }
        var body = try ControlBody(request.body)
        let terms = try LifeTerms(&body, apps: apps, scale: lives.scale)
        try body.end()
        return truth(try lives.begin(id, terms), status: 201)
      case .action(let id, let name):
        // An unknown life is said before a mistake in the body.
        guard lives.has(id) else { throw .unknownLife }
        var body = try ControlBody(request.body)
        return truth(try lives.apply(LifeAction(name, &body, scale: lives.scale), to: id))
      }
    } catch {
      return Self.refused(error)
    }
  }

  /// Tells the time, and holds it: then nothing happens by itself.
  func time(_ request: HTTP2Request) -> HTTP2Response {
    guard ["GET", "PUT"].contains(request.method) else {
      return HTTP2Response(status: 405, headers: [("allow", "GET, PUT")])
    }
    if request.method == "PUT" {
      do throws(ControlRefusal) {
        var body = try ControlBody(request.body)
        let isHeld = try body.flag("held")
        try body.end()
        guard let isHeld else { throw .mistake("held is missing") }
        lives.isHeld = isHeld
      } catch {
        return Self.refused(error)
      }
    }
    return StoreRenderer.json(
      JSONWriter.object { json in
        json.member("time", now())
        json.member("held", lives.isHeld)
        json.member("monthSeconds", json: JSONValue.number(Double(lives.scale.month) / 1000).json)
      })
  }

  /// The answer to a control call that is refused.
  static func refused(_ refusal: ControlRefusal) -> HTTP2Response {
    StoreRenderer.json(JSONWriter.object { $0.member("error", refusal.text) }, status: refusal.status)
  }

  private func truth(_ life: Life, status: Int = 200) -> HTTP2Response {
    StoreRenderer.json(JSONWriter.object { life.write(to: &$0, now: now()) }, status: status)
  }

  /// Begins one life for each line. A line that is refused does not stop the others.
  private func begin(_ lines: [UInt8]) async throws(ControlRefusal) -> HTTP2Response {
    var (begun, number): (Int64, Int64) = (0, 0)
    var refusals: [(line: Int64, text: String)] = []
    for line in lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      guard !line.isEmpty else { continue }
      do throws(ControlRefusal) {
        var body = try ControlBody(Array(line))
        guard let id = try body.transactionId("originalTransactionId") else {
          throw .mistake("originalTransactionId is missing")
        }
        let terms = try LifeTerms(&body, apps: apps, scale: lives.scale)
        try body.end()
        _ = try lives.begin(id, terms)
        begun += 1
      } catch {
        refusals.append((number, error.text))
      }
      // Other callers must not wait meanwhile.
      if number % 50 == 0 { await Task.yield() }
    }
    return StoreRenderer.json(
      JSONWriter.object { json in
        json.member("begun", begun)
        json.member("refused", refusals) { refusal, json in
          json.member("line", refusal.line)
          json.member("error", refusal.text)
        }
      }, status: refusals.isEmpty ? 201 : 400)
  }
}
