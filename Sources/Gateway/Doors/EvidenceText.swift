/// What a client sent for evidence, before anybody has read it.
package enum EvidenceText: Equatable {
  /// An app receipt in base64.
  case receipt(String)
  /// A transaction as a JWS.
  case signedTransaction(String)
}
