import Domain

/// The routes of PlayFab's contract. The game's title, which PlayFab has in its host name, is the publisher.
extension Route {
  static let playfab = [
    Route(
      .post, "/Client/RestoreIOSPurchases", under: nil, "playfab_restore",
      .door(.playfab, takesReceipts: true, PlayFabAPI.restore)),
    Route(
      .post, "/Client/ValidateIOSReceipt", under: nil, "playfab_validate",
      .door(.playfab, takesReceipts: true, PlayFabAPI.validate)),
  ]
}
