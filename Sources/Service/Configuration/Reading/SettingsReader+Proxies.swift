import Transport

extension SettingsReader {
  /// The proxies before a role, whose `X-Forwarded-For` names the client.
  func trustedProxies(_ key: String, before role: String) -> [AddressBlock] {
    strings(
      key, [],
      "Addresses and blocks, such as `10.1.0.0/16`, of the proxies before the \(role). The \(role) ignores "
        + "`X-Forwarded-For` from any other sender."
    ).compactMap { text in
      let block = AddressBlock(text)
      if block == nil { note(key, "has \"\(text)\", expected an address, or a block such as 10.1.0.0/16") }
      return block
    }
  }
}
