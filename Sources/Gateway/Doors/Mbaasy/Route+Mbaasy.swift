import Domain

extension Route {
  static let mbaasy = [
    Route(
      .post, "/client/itunes_connect/receipts", under: nil, "mbaasy_receipts",
      .door(.mbaasy, takesReceipts: true, MbaasyAPI.upload))
  ]
}
