import AppStore
import Domain
import Gateway

extension MbaasyError {
  /// A receipt that the gateway has refused, and that is no forgery.
  init(_ refusal: EvidenceRefusal) {
    self =
      switch refusal {
      case .rejected(let rejection, _): .invalid(.receipt, "is not accepted: \(rejection.text)")
      case .notActivated: .invalid(.receipt, "is of an app that the publisher has not set up")
      case .tooLarge: .invalid(.receipt, "is too long")
      case .busy: .unavailable("The gateway reads too many receipts at once; send this one again.")
      }
  }

  /// A registration of which nothing was accepted.
  init(_ refusal: DoorRefusal) {
    self =
      switch refusal {
      case .unknownCustomer: .invalid(.userIdentifier, "is not known; the publisher must register the user first")
      case .tooManyWaiting: .unavailable("Too many receipts wait for Apple; send this one again.")
      case .unavailable(let reason): .unavailable(reason)
      }
  }
}

extension Rejection {
  /// Whether somebody other than Apple made the data: its signature or its certificates are wrong. Everything else is a
  /// mistake that an honest client can make.
  var isForgery: Bool {
    switch reason {
    case .signatureInvalid, .chainUntrusted, .markerOIDMissing, .certificateInvalid, .chainLengthInvalid,
      .algorithmNotAllowed, .dateMissing:
      true
    default: false
    }
  }
}
