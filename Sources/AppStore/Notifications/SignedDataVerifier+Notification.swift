import Domain

extension SignedDataVerifier {
  /// Verifies a notification and all texts that are nested in it.
  ///
  /// Each nested text has a signature of its own, and all of them must agree. App and environment must be those of the
  /// notification, and the renewal information must be about the transaction's purchase. Usually all texts have one
  /// chain of certificates: the verification of the first text puts it into the cache, where the others find it.
  ///
  /// Nobody can post a notification of Xcode or LocalTesting: Apple signs neither. They are refused also where `apps`
  /// lists them.
  ///
  /// - Parameter apps: the apps of every publisher (``PublisherApps/accepted``), or of one.
  public func notification(_ jws: String, expecting apps: AcceptedApps) -> Verdict<VerifiedNotification> {
    Verdict { () throws(Rejection) in
      let outer: Checked<NotificationPayload> = try verified(jws, expecting: apps, allowingUnsigned: false)
      let origin = try Self.origin(of: outer.payload)
      let nested = try nested(in: outer.payload, from: origin, expecting: apps)
      return try VerifiedNotification(Verified(outer, sharing: signatures.cache), origin: origin, nested: nested)
    }
  }

  /// The verified texts in a notification.
  struct Nested {
    var transaction: Verified<TransactionPayload>?
    var renewalInfo: Verified<RenewalInfoPayload>?
    var appTransaction: Verified<AppTransactionPayload>?
  }

  private static func origin(of payload: NotificationPayload) throws(Rejection) -> NotificationOrigin {
    let origin = payload.origin
    guard let bundleId = origin.bundleId, let environment = origin.environment, environment.isSignedByApple else {
      throw Rejection(.environmentMismatch, "Apple sends no notifications of this environment")
    }
    return NotificationOrigin(bundleId: bundleId, appAppleId: origin.appAppleId?.number, environment: environment)
  }

  private func nested(
    in payload: NotificationPayload, from origin: NotificationOrigin, expecting apps: AcceptedApps
  ) throws(Rejection) -> Nested {
    var result = Nested()
    if let text = payload.data?.signedTransactionInfo {
      result.transaction = try nested(text, from: origin, expecting: apps)
    }
    if let text = payload.data?.signedRenewalInfo {
      let renewalInfo: Verified<RenewalInfoPayload> = try nested(text, from: origin, expecting: apps)
      if let transaction = result.transaction {
        try Self.check(renewalInfo.payload, isAboutThePurchaseOf: transaction.payload)
      }
      result.renewalInfo = renewalInfo
    }
    if let text = payload.appData?.signedAppTransactionInfo {
      result.appTransaction = try nested(text, from: origin, expecting: apps)
    }
    return result
  }

  private func nested<Payload: SignedPayload>(
    _ text: String, from outer: NotificationOrigin, expecting apps: AcceptedApps
  ) throws(Rejection) -> Verified<Payload> {
    let checked: Checked<Payload> = try verified(text, expecting: apps, allowingUnsigned: false)
    let origin = checked.payload.origin
    let isSameApp =
      origin.namesNoApp
      || origin.bundleId == outer.bundleId && AppAppleId.mayAgree(origin.appAppleId, outer.appAppleId)
    guard isSameApp, origin.environment == outer.environment else {
      throw Rejection(.unrelated, "the nested data is from another app or environment than the notification")
    }
    return Verified(checked, sharing: signatures.cache)
  }
}
