import Crypto

extension RunningFleet {
  /// The credentials of ``publisher`` at iaptic's door.
  public nonisolated static let iapticAppName = "com.example.app"
  public nonisolated static let iapticAPIKey = "iaptic-api-key"
  public nonisolated static let iapticSecretKey = "iaptic-secret-key"
  /// The token of its app at Mbaasy's door. At PlayFab's door, a session ticket is a customer's token.
  public nonisolated static let mbaasyClientToken = "mbaasy-client-token"

  /// The open doors as a publisher's file has them.
  public nonisolated static let doors = """
    "cleeng": {"enabled": true}, "playfab": {"enabled": true},
    "iaptic": {"enabled": true, "appName": "\(iapticAppName)", "apiKeyHashes": ["\(sha256(iapticAPIKey))"],
               "secretKeyHashes": ["\(sha256(iapticSecretKey))"]},
    "mbaasy": {"enabled": true, "clientTokens": [{"bundleId": "com.example.app",
                                                  "tokenHash": "\(sha256(mbaasyClientToken))"}]}
    """

  /// A transaction receipt of iOS 6, in base64. It begins as a JWS does.
  public nonisolated static let transactionReceipt = Base64.encode(
    Array("{\"signature\" = \"AsB=\";\n\"purchase-info\" = \"ewo=\";\n\"pod\" = \"100\";\n}".utf8))

  private nonisolated static func sha256(_ text: String) -> String { Hex.encode(SHA256.hash(Array(text.utf8))) }
}
