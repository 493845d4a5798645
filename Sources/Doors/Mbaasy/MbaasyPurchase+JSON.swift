import Domain
import JSON

extension MbaasyPurchase {
  /// A member of the resource.
  struct Member {
    /// What a new value of a member means.
    enum Kind {
      /// It is a change.
      case attribute
      /// Events tell it beside another change.
      case time
      /// It grows with every look. Events do not name it among the changes.
      case bookkeeping
    }

    let name: StaticString
    /// The value as JSON.
    let json: [UInt8]
    let kind: Kind

    fileprivate init(_ name: StaticString, _ value: MbaasyValue, _ kind: Kind = .attribute) {
      (self.name, json, self.kind) = (name, value.json, kind)
    }
  }

  /// Writes the members of the resource. A member without a value is `null`.
  func write(to writer: inout JSONWriter) {
    for member in members { writer.member(member.name, json: member.json) }
  }

  /// The members, in the order of the contract's table.
  var members: [Member] { product + owner + times }

  private var product: [Member] {
    [
      Member("id", .text(id)),
      Member("app_family_id", .text(appFamilyId)),
      Member("fact_id", .text(factId)),
      Member("version", .number(version), .bookkeeping),
      // The contract's example of an event has this name.
      Member("versions", .number(version), .bookkeeping),
      Member("marketplace", .text("itunes_connect")),
      Member("app_identifier", .text(appIdentifier.text)),
      Member("product_id", .text(productId.text)),
      Member("quantity", .number(quantity)),
      Member("type", .text(type)),
      Member("environment", .text(environment)),
      Member("unique_identifier", .identifier(uniqueIdentifier)),
    ]
  }

  private var owner: [Member] {
    [
      Member("country_code", .text(countryCode)),
      Member("currency_code", .text(currencyCode?.text)),
      Member("user_identifier", .text(userIdentifier)),
      Member("identifier_for_vendor", .text(identifierForVendor)),
      Member("is_auto_renewing", .flag(isAutoRenewing)),
      Member("in_trial_period", .flag(isInTrialPeriod)),
      Member("in_grace_period", .flag(isInGracePeriod)),
      Member("metadata", .json(metadata)),
      Member("entitlements", .texts(entitlements)),
    ]
  }

  private var times: [Member] {
    [
      Member("purchased_at", .time(purchasedAt)),
      Member("current_period_start_at", .time(currentPeriodStartAt)),
      Member("current_period_end_at", .time(currentPeriodEndAt)),
      Member("canceled_at", .time(cancellation?.at)),
      Member("canceled_by", .text(cancellation?.by.rawValue)),
      Member("created_at", .time(createdAt), .time),
      Member("updated_at", .time(updatedAt), .time),
      Member("last_synced_at", .time(lastSyncedAt), .bookkeeping),
    ]
  }
}
