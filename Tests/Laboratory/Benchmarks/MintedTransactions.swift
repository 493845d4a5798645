import AppStore
import Crypto
import Domain

/// Distinct signed subscription transactions, shaped as Apple's are: a chain of three certificates in the header, a
/// payload of 25 fields.
struct MintedTransactions {
  /// Trusts the chain's root.
  let verifier: SignedDataVerifier
  /// The claims that the verifier must expect in order to accept the transactions.
  let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example.streaming", environments: [.sandbox])])

  private let signer: PayloadSigner
  private let signedDate: Int64

  init(at milliseconds: Int64) throws {
    signedDate = milliseconds
    let root = try CertificateAuthority.root(commonName: "Benchmark Root CA - G3")
    let intermediate = try root.issueAuthority(
      CertificateProfile(
        commonName: "Benchmark Worldwide Developer Relations", use: .authority(pathLength: 0),
        markers: ["1.2.840.113635.100.6.2.1"]))
    let leaf = try intermediate.issueAuthority(
      CertificateProfile(
        commonName: "Benchmark Receipt Signing", use: .signing, markers: ["1.2.840.113635.100.6.11.1"]), curve: .p256)
    signer = try PayloadSigner(leaf: leaf, intermediate: intermediate, root: root)
    verifier = SignedDataVerifier(roots: TrustedRoots([try Certificate(der: root.certificate.der)]))
  }

  /// Returns the payload of one transaction, a JSON text.
  func payload(_ number: Int) -> String {
    let id = 2_000_000_000_000_000 + number
    return """
      {"transactionId":"\(id)","originalTransactionId":"\(id - number % 12)","webOrderLineItemId":"\(id + 7)",\
      "bundleId":"com.example.streaming","productId":"com.example.streaming.premium.monthly",\
      "subscriptionGroupIdentifier":"21345678","purchaseDate":\(signedDate - 86_400_000),\
      "originalPurchaseDate":\(signedDate - 31_536_000_000),"expiresDate":\(signedDate + 2_592_000_000),"quantity":1,\
      "type":"Auto-Renewable Subscription","appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138",\
      "inAppOwnershipType":"PURCHASED","signedDate":\(signedDate),"offerType":1,"offerDiscountType":"FREE_TRIAL",\
      "offerPeriod":"P1W","environment":"Sandbox","transactionReason":"RENEWAL","storefront":"USA",\
      "storefrontId":"143441","price":10990,"currency":"USD","appTransactionId":"704897469903783\(number % 1000)",\
      "isUpgraded":false}
      """
  }

  /// Returns one transaction as the App Store would sign it.
  func signed(_ number: Int) throws -> String { try signer.sign(Array(payload(number).utf8)) }
}
