import Formats
public import JSON

/// Everything that a worker needs to run a synchronization. It is complete, so that a job survives the loss of Redis.
public struct Job: Sendable, Equatable {
  /// The newest version of the body that this code writes and reads.
  public static let currentFormat = 3

  /// The version of the body: 3 for a job of an import, and 2 for one of a door, whose members older workers do not
  /// know; otherwise 1.
  public private(set) var format: Int
  public let synchronizationId: SynchronizationId
  public let publisherId: PublisherId
  public let customerId: CustomerId
  public let transactionId: TransactionId
  public let kind: Kind
  /// How urgent it is.
  public let lane: JobLane
  /// The purchase of the signed transaction that the registration carried, verified: it proves this purchase
  /// (`ownership.proof`).
  public let signedPurchase: PurchaseKey?
  /// Whether a customer's own token asked for it, and not the publisher's: the audit log names it.
  public let isByCustomer: Bool
  /// The name of the publisher's token that asked for it: the audit log names it too.
  public let tokenName: String?
  /// The door that it came through; `nil` for our own API.
  public let door: Door?
  /// How it ends, if it is of an import; `nil` for any other job.
  public let imported: Import?
  /// The transaction as Apple signed it, if a row of an import says that this is enough. Then Apple is not asked.
  public private(set) var signedTransaction: String?
  /// What the client told about the purchase besides.
  public private(set) var attributes: PurchaseAttributes?
  /// The offer that the client wants; the product must give it. `nil` takes the product's offer, whichever it is.
  public let requestedOfferId: OfferId?
  /// The queue of the gateway that waits for the end of the synchronization; `nil` if none does.
  public let replyTo: String?
  /// The customer's IP address, if the client gave one.
  public private(set) var ipAddress: String?
  /// When the gateway accepted it, in milliseconds since 1970.
  public let registeredAt: Int64
  /// The trace that the work continues.
  public let traceparent: String?

  /// What a synchronization does with the purchase.
  public enum Kind: String, Sendable, CaseIterable {
    /// Verifies it for its customer.
    case registration
    /// Moves it to its customer.
    case transfer
  }

  /// Creates a job.
  public init(
    synchronizationId: SynchronizationId, publisherId: PublisherId, customerId: CustomerId,
    transactionId: TransactionId,
    kind: Kind = .registration, lane: JobLane = .usual, signedPurchase: PurchaseKey? = nil, isByCustomer: Bool = false,
    tokenName: String? = nil, door: Door? = nil, imported: Import? = nil, signedTransaction: String? = nil,
    attributes: PurchaseAttributes? = nil, requestedOfferId: OfferId? = nil, replyTo: String? = nil,
    ipAddress: String? = nil, registeredAt: Int64,
    traceparent: String? = nil
  ) {
    format = imported != nil ? 3 : door != nil ? 2 : 1
    self.synchronizationId = synchronizationId
    self.publisherId = publisherId
    self.customerId = customerId
    self.transactionId = transactionId
    self.kind = kind
    self.lane = lane
    self.signedPurchase = signedPurchase
    self.isByCustomer = isByCustomer
    self.tokenName = tokenName
    self.door = door
    self.imported = imported
    self.signedTransaction = signedTransaction
    self.attributes = attributes
    self.requestedOfferId = requestedOfferId
    self.replyTo = replyTo
    self.ipAddress = ipAddress
    self.registeredAt = registeredAt
    self.traceparent = traceparent
  }

  /// The customer of the registration.
  public var customerKey: CustomerKey { CustomerKey(publisherId: publisherId, id: customerId) }

  /// Whether the caller named no user, so that the purchase stays unclaimed.
  public var isUnclaimed: Bool { customerId == .nobody }

  /// The job without what the client told about the customer, as it stays after an erasure.
  public var withoutAddress: Job {
    var job = self
    job.ipAddress = nil
    job.attributes = nil
    // It may have the customer's `appAccountToken`. Without it, Apple is asked.
    job.signedTransaction = nil
    return job
  }

  /// A job that a newer process wrote. This code knows nothing more about it: it can neither run it nor call it
  /// malformed.
  public struct NewerFormat: Error, Equatable, CustomStringConvertible {
    /// The version of its body.
    public let format: Int64

    /// Creates the error.
    public init(format: Int64) { self.format = format }

    public var description: String {
      "the job has format \(format), and this worker reads \(Job.currentFormat): a newer worker will run it"
    }
  }

  /// Reads a job; ignores members that it does not know.
  ///
  /// - Parameter doors: the doors of this build. The job of another door is one of a newer process.
  /// - Throws: ``NewerFormat``; `DecodingError` with the member's name when one is missing or has another type.
  public init(_ text: JSONText, doors: DoorCatalog) throws {
    let members = try JSONObject(text)
    // The version comes first: in a newer format the other members may be anything.
    let version = try members.requiredInt64("format")
    guard version <= Int64(Job.currentFormat) else { throw NewerFormat(format: version) }
    format = Int(version)
    synchronizationId = SynchronizationId(try members.requiredString("synchronizationId"))
    publisherId = PublisherId(try members.requiredInt64("publisherId"))
    customerId = CustomerId(try members.requiredString("customerId"))
    transactionId = TransactionId(try members.requiredString("transactionId"))
    guard let kind = Kind(rawValue: try members.string("kind") ?? Kind.registration.rawValue) else {
      // A newer process knows more kinds.
      throw NewerFormat(format: version + 1)
    }
    self.kind = kind
    // A lane that only a newer process knows changes nothing but the order.
    lane = try members.string("lane").flatMap(JobLane.init) ?? .usual
    if let environment = try members.string("signedEnvironment") {
      signedPurchase = PurchaseKey(
        publisherId: publisherId, environment: Environment(environment),
        originalTransactionId: OriginalTransactionId(try members.requiredString("signedOriginalTransactionId")))
    } else {
      signedPurchase = nil
    }
    isByCustomer = try members.bool("isByCustomer") ?? false
    tokenName = try members.string("tokenName")
    let door = try members.string("door")
    self.door = door.flatMap(doors.door(named:))
    // A newer process knows more doors, with other rules.
    if door != nil, self.door == nil { throw NewerFormat(format: version + 1) }
    let imported = try members.string("imported")
    self.imported = imported.flatMap(Import.init)
    if imported != nil, self.imported == nil { throw NewerFormat(format: version + 1) }
    signedTransaction = try members.string("signedTransaction")
    attributes = try members.string("attributes").map { try PurchaseAttributes(JSONText(Array($0.utf8), limits: .own)) }
    requestedOfferId = try members.string("requestedOfferId").map(OfferId.init(_:))
    replyTo = try members.string("replyTo")
    ipAddress = try members.string("ipAddress")
    registeredAt = try members.requiredInt64("registeredAt")
    traceparent = try members.string("traceparent")
  }

  /// Why this code cannot run the job; `nil` when it can.
  public var defect: String? {
    if !(1...Job.currentFormat).contains(format) { return "format \(format), expected 1 to \(Job.currentFormat)" }
    if !TransactionId.isValid(transactionId.text) {
      return "transactionId is not 1 to \(TransactionId.longest) digits"
    }
    if synchronizationId.text.isEmpty || synchronizationId.text.utf8.count > 256 {
      return "synchronizationId is not 1 to 256 bytes"
    }
    if !(isUnclaimed && door != nil), !customerId.isValid {
      return "customerId is not 1 to \(CustomerId.longest) bytes"
    }
    if !registeredAt.isTime { return "registeredAt is not a time from 1970 to 9999" }
    return nil
  }

  /// The job as JSON, the same bytes each time.
  public var encoded: [UInt8] {
    JSONWriter.object { writer in
      writer.member("attributes", attributes.map { String(decoding: $0.encoded, as: UTF8.self) })
      writer.member("customerId", customerId)
      writer.member("door", door?.rawValue)
      writer.member("format", Int64(format))
      writer.member("imported", imported?.rawValue)
      writer.member("ipAddress", ipAddress)
      writer.member("isByCustomer", isByCustomer ? true : nil)
      writer.member("kind", kind == .registration ? nil : kind.rawValue)
      writer.member("lane", lane == .usual ? nil : lane.rawValue)
      writer.member("publisherId", publisherId.number)
      writer.member("registeredAt", registeredAt)
      writer.member("replyTo", replyTo)
      writer.member("requestedOfferId", requestedOfferId)
      writer.member("signedEnvironment", signedPurchase?.environment)
      writer.member("signedOriginalTransactionId", signedPurchase?.originalTransactionId)
      writer.member("signedTransaction", signedTransaction)
      writer.member("synchronizationId", synchronizationId)
      writer.member("tokenName", tokenName)
      writer.member("traceparent", traceparent)
      writer.member("transactionId", transactionId)
    }
  }
}
