import Gateway

extension PlayFabAPI {
  /// The paths of PlayFab's contract. The game's title, which PlayFab has in its host name, is the publisher.
  nonisolated static let routes = [
    DoorRoute(.post, "/Client/RestoreIOSPurchases", "playfab_restore", takesReceipts: true, restore),
    DoorRoute(.post, "/Client/ValidateIOSReceipt", "playfab_validate", takesReceipts: true, validate),
  ]
}
