import Domain
import Gateway

/// What became of the purchases of a receipt, as one answer tells it.
enum MbaasyVerdict: Equatable {
  /// Apple has answered: 200.
  case validated
  /// The jobs are queued, and Apple has not answered all of them yet: 206.
  case enqueued

  /// What became of one purchase.
  enum Part: Equatable {
    /// Apple has answered, or the ledger has decided with Apple's data.
    case validated
    case enqueued
    /// Nothing was queued.
    case notAccepted(String)
    /// Every attempt failed, or what Apple's server answered is not signed by Apple. Nothing will follow.
    case notValidated
    /// Apple's data belongs to an app that is not the publisher's.
    case ofAnotherApp
    /// The publisher erased the customer in the meantime.
    case withoutCustomer
  }

  /// Sums up the results of a receipt's purchases.
  ///
  /// If Apple has answered about one purchase, the receipt is validated: the answer lists what the ledger knows.
  ///
  /// - Throws: ``MbaasyError``: 503 if a job was not accepted, or Apple's answers cannot be used; 422.
  init(_ parts: [Part]) throws(MbaasyError) {
    for case .notAccepted(let reason) in parts { throw .unavailable("is not accepted: \(reason)") }
    if parts.contains(.enqueued) {
      self = .enqueued
    } else if parts.isEmpty || parts.contains(.validated) {
      self = .validated
    } else if parts.contains(.withoutCustomer) {
      throw .invalid(.userIdentifier, "was erased")
    } else if parts.contains(.ofAnotherApp) {
      throw .invalid(.receipt, "is of another app, as Apple says")
    } else {
      throw .unavailable("could not be validated with Apple; send the receipt again")
    }
  }
}

extension MbaasyVerdict.Part {
  /// What a finalized result means.
  init(_ code: ResultCode) {
    switch code {
    case .internalError, .verificationFailed: self = .notValidated
    case .appMismatch: self = .ofAnotherApp
    case .customerErased: self = .withoutCustomer
    // Apple has answered, whatever the answer means for access or for the owner.
    default: self = .validated
    }
  }

  /// What became of one registration.
  init(_ state: DoorResult.State) {
    switch state {
    case .finalized(let result): self.init(result.code)
    case .accepted: self = .enqueued
    case .failed(let reason): self = .notAccepted(reason)
    }
  }
}
