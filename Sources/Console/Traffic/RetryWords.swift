import Domain

extension RetryCause {
  /// Why a synchronization is tried again, for people.
  var words: String {
    switch self {
    case .network: "Apple cannot be reached"
    case .timeout: "Apple takes too long"
    case .tls: "no TLS connection to Apple"
    case .appleError: "Apple answers with an error"
    case .rateLimited: "Apple answers 429"
    case .unauthorized: "Apple refuses the app's key"
    case .malformedAnswer: "Apple's answer cannot be read"
    case .notFoundYet: "Apple does not know the transaction yet"
    case .budget: "the budget of calls to Apple is used up"
    case .suspect: "another one must run alone first"
    case .busy: "another one has the purchase now"
    case .storeUnavailable: "Redis is away"
    case .ledgerUnavailable: "the ledger is away"
    case .tryLater: "a worker asked for a later time"
    case .publisherUnknown: "no file has the publisher"
    case .publisherBroken: "the publisher's file has a mistake"
    case .newerFormat: "a newer version wrote it"
    }
  }

  /// What somebody can do about it.
  var help: String {
    switch self {
    case .network, .timeout, .appleError, .malformedAnswer, .rateLimited, .budget:
      "Nothing must be done: it goes on when Apple answers again. A try before that takes a call of the budget."
    case .tls: "Look at the certificates: `appStore.rootFiles`, and a proxy between here and Apple."
    case .unauthorized: "Look at the app's key in the publisher's file. When it is right, all of them go on."
    case .notFoundYet: "Apple needs up to some minutes for a new transaction."
    case .suspect, .busy, .tryLater: "Nothing must be done: it waits for its turn."
    case .storeUnavailable, .ledgerUnavailable: "It goes on when the server is back."
    case .publisherUnknown, .publisherBroken: "Mend the publisher's file. The workers see it by themselves."
    case .newerFormat: "Finish the upgrade: a worker of the newer version takes it."
    }
  }
}
