import AppStore
import Configuration
import Domain
import EventLoop
import HTTPServer
import Service

extension GatewaySettings {
  /// What the gateway's server asks about a head.
  struct HeadQuestions {
    /// Checks credentials by what is known now.
    var authenticator: @LoopActor @Sendable () -> Authenticator
    /// The answer to a notification whose address has posted too much; `nil` if it may go on.
    var refusalOfNotification: @LoopActor @Sendable (HTTPServerRequest) -> HTTPServerResponse?
    /// Learns of each head that is refused before its body is read: no handler sees the request.
    var onRefusedHead: @LoopActor @Sendable (HTTPServerRequest) -> Void
    /// Learns of each refusal of a door.
    var onRefused: @LoopActor @Sendable (HTTPServerResponse, RouteTable.ReceiptDoor) -> Void
  }

  /// The configuration of the gateway's server: its address, its paths with large bodies, and what a stranger can hold
  /// of it. `ops/fuzz` runs a server with the same.
  func serverConfiguration(_ routes: RouteTable, asking questions: HeadQuestions) -> HTTPServer.Configuration {
    var configuration = HTTPServer.Configuration(
      maxConnectionsPerAddress: maxConnectionsPerAddress,
      largeBodyShares: .init(ofPublisher: bodySharePerPublisher, ofAddress: bodySharePerAddress))
    configuration.host = listen.host
    configuration.port = listen.port
    configuration.largeBody = { [doors] path in
      switch routes.largeBody(ofRaw: path) {
      case .receipt: .init(maxBytes: doors.maxBodyBytes, in: .callers)
      case .notification: .init(maxBytes: PostedNotification.maxLength, in: .anybody)
      case .importPart: .init(maxBytes: UploadedImport.mostPartBytes, in: .callers)
      case nil: nil
      }
    }
    var pace = DoorPace()
    let started = ContinuousClock.now
    configuration.admitHead = { head in
      if Route.isNotification(head.path) {
        guard let refusal = questions.refusalOfNotification(head) else { return .admitted(nil) }
        questions.onRefusedHead(head)
        return .refused(refusal)
      }
      if Route.isImportPart(head.path), head.method == "POST" {
        do throws(Problem) {
          return .admitted(try ImportAPI.sender(of: head, by: questions.authenticator()))
        } catch {
          questions.onRefusedHead(head)
          return .refused(error.response)
        }
      }
      guard let found = routes.receiptDoor(of: head.path),
        let admission = found.door.admission(ofAny: head, by: questions.authenticator())
      else { return .admitted(nil) }
      guard let refusal = admission.refusal(&pace, now: ContinuousClock.now - started) else {
        return .admitted(admission.sender)
      }
      questions.onRefusedHead(head)
      questions.onRefused(refusal, found)
      return .refused(CrossOrigin.admitted(refusal))
    }
    limit(&configuration)
    return configuration
  }

  private func limit(_ configuration: inout HTTPServer.Configuration) {
    configuration.maxBodyBytes = maxBodyBytes
    configuration.maxHeaderBytes = maxHeaderBytes
    configuration.maxConnections = maxConnections
    configuration.idleTimeout = idleTimeout
    configuration.headTimeout = headTimeout
    configuration.bodyTimeout = bodyTimeout
    configuration.minBodyRate = minBodyRate
    configuration.trust(trustedProxies)
  }
}
