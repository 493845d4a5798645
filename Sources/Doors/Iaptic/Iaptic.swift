import Configuration
import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import JSON

/// The receipt validator of iaptic (Fovea.Billing): docs/compatibility/iaptic.md.
struct Iaptic: GatewayDoor {
  let id = Door.iaptic
  let topics = [EventTopic.purchasesUpdated]
  let formats = [WebhookEndpoint.Format.fovea]
  let export: ExportColumns? = .iaptic
  let recordedBodies: (any RecordedBodyReader)? = IapticBodies()
  let wait: DoorWait? = DoorWait("iapticWaitSeconds", 15, "How long the iaptic door waits for results.")
  let credentials = [UniqueCredential("appName") { $0.doors.iaptic.map { [ExactText($0.appName)] } ?? [] }]

  var routes: [DoorRoute] { IapticAPI.routes }

  @LoopActor
  func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission {
    IapticAPI.admission(of: head, authenticator.publishers, now: authenticator.milliseconds)
  }

  func tooLarge(limit: Int) -> HTTPServerResponse { IapticAPI.tooLarge(limit: limit) }

  func noRoom() -> HTTPServerResponse { IapticAPI.noRoom() }

  func read(_ reader: DoorReader) -> (any OpenDoor)? {
    let isOpen = reader.isOpen("the receipt validator of iaptic, `/v1/validate`")
    var policy = reader.policy()
    policy.customers = reader.openCustomers()
    let appName = reader.optionalString(
      "appName", "Name of the app in requests; required for this door. No other publisher may have the same name.")
    let apiKeys = reader.hashes(
      "apiKeyHashes", of: "key", "SHA-256 of each public key, which the app holds, in hexadecimal.")
    let secretKeys = reader.hashes(
      "secretKeyHashes", of: "key", "SHA-256 of each secret key, which a backend holds, in hexadecimal.")
    reader.noteRepetition(in: apiKeys, "apiKeyHashes")
    reader.noteRepetition(in: secretKeys, "secretKeyHashes")
    if !Set(apiKeys).isDisjoint(with: secretKeys) {
      // Everybody can read the public key in the app.
      reader.note("secretKeyHashes", "has a hash of apiKeyHashes, expected secret keys")
    }
    guard isOpen else { return nil }
    if appName == nil { reader.note("appName", "is missing, expected a string, since the door is open") }
    if apiKeys.isEmpty {
      reader.note("apiKeyHashes", "is empty, expected the hash of a key, since the door is open")
    }
    return IapticDoor(policy: policy, appName: appName ?? "", apiKeyHashes: apiKeys, secretKeyHashes: secretKeys)
  }

  /// The event names the product that changed, and its purchase says whether it is from the sandbox.
  func environment(of data: JSONValue) -> WebhookEnvironment? {
    guard case .object(let members) = data, case .object(let notification)? = members["notification"],
      case .string(let product)? = notification["productId"], case .object(let purchases)? = members["purchases"],
      case .object(let purchase)? = purchases[product], case .bool(let isSandbox)? = purchase["sandbox"]
    else { return nil }
    return isSandbox ? .sandbox : .production
  }
}
