import Gateway

extension MbaasyAPI {
  /// The path of Mbaasy's client API.
  nonisolated static let routes = [
    DoorRoute(.post, "/client/itunes_connect/receipts", "mbaasy_receipts", takesReceipts: true, upload)
  ]
}
