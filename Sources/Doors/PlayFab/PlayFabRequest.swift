import Domain
import Formats
import Gateway
import HTTPServer
import JSON

/// The body of `RestoreIOSPurchases`.
struct PlayFabRestoreRequest: Equatable {
  let receiptData: String
  let catalogVersion: String?

  init(_ request: HTTPServerRequest) throws(PlayFabError) {
    (receiptData, catalogVersion) = try PlayFabBody.read(request) { body in
      try (body.text("ReceiptData", .receipt) ?? "", PlayFabBody.catalogVersion(body))
    }
    guard !receiptData.isEmpty else { throw .invalidParams("ReceiptData", "The ReceiptData field is required.") }
  }
}

/// The body of `ValidateIOSReceipt`.
struct PlayFabValidateRequest: Equatable {
  let evidence: EvidenceText
  /// What the customer paid, in hundredths of the currency.
  let purchasePrice: Int64
  let currencyCode: String?
  let catalogVersion: String?

  init(_ request: HTTPServerRequest) throws(PlayFabError) {
    let receipt: String?
    let jws: String?
    let price: Int32?
    (receipt, jws, price, currencyCode, catalogVersion) = try PlayFabBody.read(request) { body in
      try (
        body.text("ReceiptData", .receipt), body.text("JwsReceiptData", .signedTransaction),
        body.int32("PurchasePrice"), body.text("CurrencyCode", .name).nonEmpty, PlayFabBody.catalogVersion(body)
      )
    }
    switch (receipt.nonEmpty, jws.nonEmpty) {
    case (let receipt?, nil): evidence = .receipt(receipt)
    case (nil, let jws?): evidence = .signedTransaction(jws)
    case (nil, nil):
      throw .invalidParams("ReceiptData", "The ReceiptData field or the JwsReceiptData field is required.")
    case (.some, .some): throw .invalidParams("JwsReceiptData", "Send ReceiptData or JwsReceiptData, not both.")
    }
    guard let price else { throw .invalidParams("PurchasePrice", "The PurchasePrice field is required.") }
    guard price >= 0 else { throw .invalidParams("PurchasePrice", "The field must be a number from 0.") }
    purchasePrice = Int64(price)
  }
}

/// What all bodies have in common.
private enum PlayFabBody {
  /// Reads a body. Members that the contract does not have are ignored, as PlayFab does.
  static func read<Value>(
    _ request: HTTPServerRequest, _ take: (borrowing RequestObject) throws -> Value
  ) throws(PlayFabError) -> Value {
    do throws(Problem) {
      if !request.body.isEmpty { try requireJSON(request) }
    } catch {
      throw .invalidContentType
    }
    guard request.header("Content-Encoding").nonEmpty.map({ $0.lowercased() == "identity" }) ?? true else {
      throw .invalidContentType
    }
    do {
      return try take(RequestObject(JSONText(request.body)))
    } catch let error as TextTooLong {
      throw .invalidParams(error.path, "The field has more than \(error.limit.most) \(error.limit.unit.rawValue).")
    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context)
    {
      guard let member = context.codingPath.first?.stringValue else { throw .invalidJSON("Expected a JSON object.") }
      throw .invalidParams(member, "The field has another type than \(expected[member] ?? "the API expects").")
    } catch {
      throw .invalidJSON("The body is not JSON: \(error)")
    }
  }

  /// Reads the catalog's version, and checks the tags, which nothing keeps.
  static func catalogVersion(_ body: borrowing RequestObject) throws -> String? {
    _ = try body.texts("CustomTags", .characters(1024))
    return try body.text("CatalogVersion", .name).nonEmpty
  }

  private static let expected = [
    "ReceiptData": "a text", "JwsReceiptData": "a text", "CatalogVersion": "a text", "CurrencyCode": "a text",
    "CustomTags": "an object of texts", "PurchasePrice": "a whole number of 32 bits",
  ]
}

extension String? {
  /// The text; `nil` for an empty one.
  fileprivate var nonEmpty: String? { flatMap { $0.isEmpty ? nil : $0 } }
}
