import Configuration
import EventLoop
import Formats
import HTTP
import HTTPClient

/// `countersign health`: asks a running role whether it is ready.
///
/// It is for what asks with a command and not over HTTP, such as a health check of Docker. The image has no other
/// program that could ask.
enum HealthCommand {
  static let command = Command(
    name: "health", summary: "asks a running role of this machine whether it is ready",
    synopsis: "\(Role.allCases.map(\.rawValue).joined(separator: "|")) --config FILE",
    actions: Role.allCases.map(\.rawValue), mostOperands: 1, notes: "Exits with 0 if the role is ready, and 1 if not.",
    run: run)

  /// Who is asked.
  private enum Role: String, CaseIterable {
    case gateway, worker, notifier, console, simulator
  }

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let role: Role
    let settings: Settings
    do {
      var words = CommandWords(arguments)
      role = try words.first("a role", for: "health")
      // The publishers' files do not matter to it: the role itself has read them.
      settings = try ConfigurationLoader(Array(arguments.dropFirst()), command: "health").settings()
    } catch {
      complain("\(error)")
      return 2
    }
    return await ask(role, settings)
  }

  @LoopActor
  private static func ask(_ role: Role, _ settings: Settings) async -> Int32 {
    var configuration = HTTPClientConfiguration()
    configuration.allowsPlainHTTP = true
    // With a check of addresses, the client uses no proxy of the environment.
    configuration.allowsAddress = { _ in true }
    if role == .simulator { configuration.caFile = settings.simulator.folder + "/tls-ca.pem" }
    let client = HTTPClient(configuration)
    defer { client.close() }
    let request = HTTPClientRequest("GET", url(role, settings), timeout: .seconds(4), maxResponseBytes: 1 << 16)
    do throws(HTTPClientError) {
      let answer = try await client.send(request)
      guard answer.status == 200 else {
        let body = String(decoding: answer.body, as: UTF8.self)
        complain("countersign health: \(request.url) answered \(answer.status) \(body)")
        return 1
      }
      say("ready")
      return 0
    } catch {
      complain("countersign health: \(error)")
      return 1
    }
  }

  /// Where the role says whether it is ready. The simulator needs nobody: it is ready once it answers.
  private static func url(_ role: Role, _ settings: Settings) -> String {
    switch role {
    case .gateway: "http://\(place(settings.gateway.listen))/readyz"
    case .worker: "http://\(place(settings.worker.listen))/readyz"
    case .notifier: "http://\(place(settings.notifier.listen))/readyz"
    case .console: "http://\(place(settings.console.listen))/readyz"
    case .simulator: "https://\(place(settings.simulator.listen))/livez"
    }
  }

  /// The address at which a process of this machine reaches a role. A role that listens on all addresses has this
  /// machine's own one, too.
  private static func place(_ address: ListenAddress) -> String {
    let host =
      switch address.host {
      case "0.0.0.0": "127.0.0.1"
      case "::": "::1"
      default: address.host
      }
    return ServerAddress(host: host, port: address.port).description
  }
}
