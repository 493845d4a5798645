public import Domain

/// The stored keys of an endpoint that this process cannot decrypt. The error never shows any of them.
public struct UnreadableSecrets: Error, Sendable, Equatable, CustomStringConvertible {
  public let publisherId: PublisherId
  public let endpointId: EndpointId
  public let defect: WebhookEndpoint.SecretsDefect

  /// Creates an error.
  public init(publisherId: PublisherId, endpointId: EndpointId, defect: WebhookEndpoint.SecretsDefect) {
    self.publisherId = publisherId
    self.endpointId = endpointId
    self.defect = defect
  }

  public var description: String {
    let row = "the secrets of endpoint \(endpointId) of publisher \(publisherId)"
    return switch defect.cause {
    case .missingKey: "\(row) are under the key \(defect.keyId ?? ""), which ledger.keysFile lacks"
    case .notAuthentic:
      "\(row) are not the ones that were stored there under the key \(defect.keyId ?? ""): "
        + "another key has this id, or somebody changed the row"
    case .plainText:
      "\(row) are plain text, which ledger.refusesPlainSecrets forbids: a process without keys wrote them, or somebody "
        + "changed the row; run `countersign rekey`"
    }
  }
}

/// A process without keys must not store a secret, because others encrypt the secrets in this ledger.
public struct MissingKeysFile: Error, Sendable, CustomStringConvertible {
  public var description: String {
    "secrets in the ledger are encrypted, and this process has no ledger.keysFile: it stores no other secret"
  }
}
